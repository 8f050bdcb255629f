import JuiceMaker

// The pieces of answers that the menu and the language fix, cut where a text or a number of the single answer
// comes in. Each is as long as possible: the cost of an answer is the number of its pieces.

/// What answers say of one fruit.
struct FruitFragments {
    /// `,"used":{"kiwi":`
    let firstUsed: Fragment
    /// After the fruits that were used: `},"left":{"kiwi":`
    let firstLeftAfterUsed: Fragment
    /// After the store: `","left":{"kiwi":`
    let firstLeft: Fragment
    /// `,"kiwi":`
    let next: Fragment
    /// `,"fruit":"kiwi","missing":[{"fruit":"kiwi","needed":`
    let firstShort: Fragment
    /// `},{"fruit":"kiwi","needed":`
    let nextShort: Fragment
    /// Around the level, in the message to a restock: `kiwi 8`
    let level: (before: Fragment, after: Fragment)
    private let beforeOthers: Fragment
    private let beforeLast: Fragment
    private let last: Fragment

    init(fruit: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        let id = phrasebook.menu.fruits[fruit].id
        firstUsed = fragments.add { $0.append(#","used":{"#, key: id) }
        firstLeftAfterUsed = fragments.add { $0.append(#"},"left":{"#, key: id) }
        firstLeft = fragments.add { $0.append(#"","left":{"#, key: id) }
        next = fragments.add { $0.append(",", key: id) }
        firstShort = fragments.add {
            $0.append(#","fruit":"#)
            $0.append(quoted: id)
            $0.append(#","missing":[{"fruit":"#)
            $0.append(quoted: id)
            $0.append(#","needed":"#)
        }
        nextShort = fragments.add {
            $0.append(#"},{"fruit":"#)
            $0.append(quoted: id)
            $0.append(#","needed":"#)
        }

        let level = phrasebook.level(ofFruit: fruit)
        self.level = (
            fragments.add { $0.append(escaped: level.before) },
            fragments.add { $0.append(escaped: level.after) }
        )
        let listed = phrasebook.listed(fruit: fruit)
        beforeOthers = fragments.add { $0.append(escaped: listed.beforeOthers) }
        beforeLast = fragments.add { $0.append(escaped: listed.beforeLast) }
        last = fragments.add { $0.append(escaped: listed.last) }
    }

    /// The fruit in the message that lists what is short, by how many fruits follow it.
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
    /// Where the ingredients are among those of all juices.
    let ingredients: Range<Int>
    /// `","juice":"kiwi","quantity":`
    let id: Fragment
    /// `},"message":"juice made: kiwi juice"}`
    let madeOne: Fragment
    /// Around the number: `},"message":"juice made: 3 × kiwi juice"}`
    let madeSeveral: (before: Fragment, after: Fragment)

    init(_ juice: Int, _ ingredients: Range<Int>, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        self.ingredients = ingredients
        id = fragments.add {
            $0.append(#"","juice":"#)
            $0.append(quoted: phrasebook.menu.juices[juice].id)
            $0.append(#","quantity":"#)
        }
        madeOne = fragments.add {
            $0.append(#"},"message":""#)
            $0.append(escaped: phrasebook.madeOne(juice: juice))
            $0.append(#""}"#)
        }
        let several = phrasebook.madeSeveral(juice: juice)
        madeSeveral = (
            fragments.add {
                $0.append(#"},"message":""#)
                $0.append(escaped: several.before)
            },
            fragments.add {
                $0.append(escaped: several.after)
                $0.append(#""}"#)
            }
        )
    }
}

/// What answers say of any juice or fruit.
struct PhraseFragments {
    /// Around the fruits: `}],"message":"out of stock (mango, kiwi)"}`
    let outOfStock: (before: Fragment, after: Fragment)
    /// `},"message":"restocked: `
    let restocked: Fragment

    init(_ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        outOfStock = (
            fragments.add {
                $0.append(#"}],"message":""#)
                $0.append(escaped: phrasebook.outOfStock.before)
            },
            fragments.add {
                $0.append(escaped: phrasebook.outOfStock.after)
                $0.append(#""}"#)
            }
        )
        restocked = fragments.add {
            $0.append(#"},"message":""#)
            $0.append(escaped: phrasebook.restocked)
        }
    }
}

/// How answers of one type begin, up to the id.
struct TypeFragments {
    /// `{"type":"juiceMade","orderId":"`
    private let first: Fragment
    /// `{"type":"juiceMade","duplicate":true,"orderId":"`
    private let duplicate: Fragment

    init(_ kind: AnswerContent.Kind, _ fragments: inout Fragments) {
        func beginning(isDuplicate: Bool) -> Fragment {
            fragments.add {
                $0.append(type: kind.type, isDuplicate: isDuplicate)
                $0.append(idFieldOf: kind.command)
            }
        }
        first = beginning(isDuplicate: false)
        duplicate = beginning(isDuplicate: true)
    }

    /// The beginning of a first answer, or of one that is given again.
    func beginning(of head: AnswerHead) -> Fragment { head.isDuplicate ? duplicate : first }
}

extension OutputBuffer {
    // What comes before a member of an object, and the member's name.
    mutating func append(_ before: StaticString, key: String) {
        append(before)
        append(quoted: key)
        append(":")
    }
}
