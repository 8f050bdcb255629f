import JuiceMaker

/// A piece of JSON that is the same in every record: its place in a table of ``Fragments``.
struct Fragment {
    fileprivate let start: Int
    fileprivate let end: Int
}

/// All the pieces an encoder writes again and again, escaped once.
///
/// They lie in one array and are known by their places: an array for each would count references at every read.
struct Fragments: Sendable {
    private var bytes: [UInt8] = []

    /// Keeps what `append` puts into the table.
    mutating func add(_ append: (inout OutputBuffer) -> Void) -> Fragment {
        var piece = OutputBuffer()
        append(&piece)
        let start = bytes.count
        bytes += piece.bytes
        return Fragment(start: start, end: bytes.count)
    }

    /// Calls `body` with the bytes of a fragment.
    @inline(__always)
    func withBytes<Result>(of fragment: Fragment, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[fragment.start..<fragment.end])) }
    }
}

extension OutputBuffer {
    mutating func append(_ fragment: Fragment, of fragments: Fragments) {
        fragments.withBytes(of: fragment) { append($0) }
    }
}

// The pieces of answers that the menu and the language fix, cut where a text or a number of the single answer
// comes in. Each is as long as possible: the cost of an answer is the number of its pieces.

/// What answers say of one fruit.
struct FruitFragments {
    /// `,"used":{"kiwi":`
    let firstUsed: Fragment
    /// `,"returned":{"kiwi":`
    let firstReturned: Fragment
    /// After the fruits that were used or returned: `},"left":{"kiwi":`
    let firstLeftAfterAmounts: Fragment
    /// `,"left":{"kiwi":`
    let firstLeft: Fragment
    /// `,"kiwi":`
    let next: Fragment
    /// `,"fruit":"kiwi","missing":[{"fruit":"kiwi","needed":`
    let firstShort: Fragment
    /// `},{"fruit":"kiwi","needed":`
    let nextShort: Fragment
    /// Around the number, in the message to a restock or a cancel: `kiwi 8`
    let counted: (before: Fragment, after: Fragment)
    private let beforeOthers: Fragment
    private let beforeLast: Fragment
    private let last: Fragment

    init(fruit: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        let id = phrasebook.menu.fruits[fruit].id
        firstUsed = fragments.add { $0.append(#","used":{"#, key: id) }
        firstReturned = fragments.add { $0.append(#","returned":{"#, key: id) }
        firstLeftAfterAmounts = fragments.add { $0.append(#"},"left":{"#, key: id) }
        firstLeft = fragments.add { $0.append(#","left":{"#, key: id) }
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

        counted = fragments.add(phrasebook.counted(fruit: fruit))
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
    /// `,"juice":"kiwi","quantity":`
    let id: Fragment
    /// `,"items":[{"juice":"kiwi","quantity":`
    let firstItem: Fragment
    /// `},{"juice":"kiwi","quantity":`
    let nextItem: Fragment
    /// `,"message":"juice made: kiwi juice"}`
    let madeOne: Fragment
    /// `kiwi juice`
    let one: Fragment
    /// Around the number: `3 × kiwi juice`
    let several: (before: Fragment, after: Fragment)

    init(juice: Int, _ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        func item(after before: StaticString) -> Fragment {
            fragments.add {
                $0.append(before)
                $0.append(quoted: phrasebook.menu.juices[juice].id)
                $0.append(#","quantity":"#)
            }
        }
        id = item(after: #","juice":"#)
        firstItem = item(after: #","items":[{"juice":"#)
        nextItem = item(after: #"},{"juice":"#)
        let name = phrasebook.one(ofJuice: juice)
        one = fragments.add { $0.append(escaped: name) }
        madeOne = fragments.add {
            $0.append(#","message":""#)
            $0.append(escaped: phrasebook.made.before + name + phrasebook.made.after)
            $0.append(#""}"#)
        }
        several = fragments.add(phrasebook.several(ofJuice: juice))
    }
}

/// What answers say of any juice or fruit.
struct PhraseFragments {
    /// Around the juices: `,"message":"juice made: 3 × kiwi juice"}`
    let made: (before: Fragment, after: Fragment)
    /// After the levels: `},"revision":`
    let revision: Fragment
    /// Around the fruits: `}],"message":"out of stock (mango, kiwi)"}`
    let outOfStock: (before: Fragment, after: Fragment)
    /// `,"message":"restocked: `
    let restocked: Fragment
    /// Around the fruits: `,"message":"cancelled: kiwi 6 returned"}`
    let cancelled: (before: Fragment, after: Fragment)
    /// All the rest of a cancel's answer that returned nothing.
    let cancelledNothing: Fragment

    init(_ phrasebook: Phrasebook, _ fragments: inout Fragments) {
        revision = fragments.add { $0.append(#"},"revision":"#) }
        made = fragments.add(message: phrasebook.made, after: #","message":""#)
        outOfStock = fragments.add(message: phrasebook.outOfStock, after: #"}],"message":""#)
        cancelled = fragments.add(message: phrasebook.cancelled, after: #","message":""#)
        restocked = fragments.add {
            $0.append(#","message":""#)
            $0.append(escaped: phrasebook.restocked)
        }
        cancelledNothing = fragments.add {
            $0.append(#","returned":{},"left":{},"message":""#)
            $0.append(escaped: phrasebook.cancelledNothing)
            $0.append(#""}"#)
        }
    }
}

extension Fragments {
    /// Adds the texts around a number or a list.
    fileprivate mutating func add(_ texts: (before: String, after: String)) -> (Fragment, Fragment) {
        (add { $0.append(escaped: texts.before) }, add { $0.append(escaped: texts.after) })
    }

    /// Adds the texts around a list in the message, which ends the answer.
    fileprivate mutating func add(
        message texts: (before: String, after: String),
        after start: StaticString
    ) -> (Fragment, Fragment) {
        let before = add {
            $0.append(start)
            $0.append(escaped: texts.before)
        }
        let after = add {
            $0.append(escaped: texts.after)
            $0.append(#""}"#)
        }
        return (before, after)
    }
}

/// How answers begin, up to the id: `{"type":"juiceMade","orderId":"`.
struct BeginningFragments {
    let juiceMade: Fragment
    let outOfStock: Fragment
    let restocked: Fragment
    let cancelled: Fragment

    init(_ fragments: inout Fragments) {
        func beginning(_ kind: AnswerContent.Kind) -> Fragment {
            fragments.add {
                $0.append(type: kind.type)
                $0.append(idFieldOf: kind.command)
            }
        }
        juiceMade = beginning(.juiceMade)
        outOfStock = beginning(.outOfStock)
        restocked = beginning(.restocked)
        cancelled = beginning(.cancelled)
    }
}

extension OutputBuffer {
    // What comes before a member of an object, and the member's name.
    mutating func append(_ before: StaticString, key: String) {
        append(before)
        append(quoted: key)
        append(":")
    }
}
