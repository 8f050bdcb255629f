/// What answers say of one fruit.
struct FruitFragments {
    /// `"kiwi"`
    let id: Fragment
    /// `"kiwi":`
    let key: Fragment
    let level: (before: Fragment, after: Fragment)
    private let beforeOthers: Fragment
    private let beforeLast: Fragment
    private let last: Fragment

    init(fruit: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        let id = phrasebook.menu.fruits[fruit].id
        let listed = phrasebook.listed(fruit: fruit)
        self.id = fragments.add(quoted: id)
        key = fragments.add(key: id)
        level = fragments.add(pair: phrasebook.level(ofFruit: fruit))
        beforeOthers = fragments.add(escaped: listed.beforeOthers)
        beforeLast = fragments.add(escaped: listed.beforeLast)
        last = fragments.add(escaped: listed.last)
    }

    /// The fruit in a list of which so many are still to come.
    func listed(followedBy following: Int) -> Fragment {
        switch following {
        case 0: last
        case 1: beforeLast
        default: beforeOthers
        }
    }
}

/// What answers say of one juice.
struct JuiceFragments {
    /// `"kiwi"`
    let id: Fragment
    let madeOne: Fragment
    let madeSeveral: (before: Fragment, after: Fragment)

    init(juice: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        id = fragments.add(quoted: phrasebook.menu.juices[juice].id)
        madeOne = fragments.add(escaped: phrasebook.madeOne(juice: juice))
        madeSeveral = fragments.add(pair: phrasebook.madeSeveral(juice: juice))
    }
}

/// What answers say of any juice or fruit.
struct PhraseFragments {
    let outOfStock: (before: Fragment, after: Fragment)
    let restocked: Fragment

    init(_ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        outOfStock = fragments.add(pair: phrasebook.outOfStock)
        restocked = fragments.add(escaped: phrasebook.restocked)
    }
}

extension Fragments {
    fileprivate mutating func add(
        pair: (before: String, after: String)
    ) -> (before: Fragment, after: Fragment) {
        (add(escaped: pair.before), add(escaped: pair.after))
    }
}
