import JuiceDomain
import Testing

@testable import JuiceEngine
@testable import JuiceMessages

/// Where a copy of an input goes on, by what its records are.
@Suite struct CopyAlignmentTests {
    struct Case: CustomTestStringConvertible {
        /// The journal, such as `a5 x6 *7`: the answer to order a at offset 5, a dead letter, a type of a newer service.
        /// `C5` is a claim that was written at offset 5, `p7` a position, `@1<9` an anchor at 1, which was 9. `pa7` is a position
        /// after order a, the last that was handled, at offset 6, and `pa7-4` one that was handled at 4.
        let journal: String
        /// The input, such as `a x b`: orders, and a record that is no command. `.` is an offset without a record.
        let input: String
        let id: String?
        /// The next offsets at which it may go on, and what the only one was; nil if the journal does not tell.
        let expected: [CopyAlignment.Place]?
        let isAmbiguous: Bool

        init(_ journal: String, _ input: String, upTo id: String? = nil, _ next: Offset, _ journaled: Offset, lacking: Int = 0) {
            (self.journal, self.input, self.id, isAmbiguous) = (journal, input, id, false)
            expected = [.init(next: next, journaled: journaled, lacking: lacking)]
        }

        enum Mismatch {
            case nothingToCompare, nowhere
            case ambiguous([Offset])
        }

        init(_ journal: String, _ input: String, upTo id: String? = nil, _ mismatch: Mismatch) {
            (self.journal, self.input, self.id) = (journal, input, id)
            switch mismatch {
            case .nothingToCompare: (expected, isAmbiguous) = (nil, false)
            case .nowhere: (expected, isAmbiguous) = ([], false)
            case .ambiguous(let offsets):
                (expected, isAmbiguous) = (offsets.map { .init(next: $0, journaled: 0, lacking: 0) }, true)
            }
        }

        var testDescription: String { "\(journal) in \(input)" }
    }

    static let cases = [
        Case("a0 b1", "a b", 2, 2), Case("a0 b1", "a b c", 2, 2), Case("C0", "a b", 0, 0), Case("C0", "", 0, 0),
        // Markers took offsets, or the oldest records had expired.
        Case("a0 b2 c5", "a b c d", 3, 6), Case("a70 b71 c72", "b c d", 2, 73), Case("a0 b1", ". a . b .", 4, 2),
        // The journal's beginning has expired.
        Case("c72", "a b c d", 3, 73), Case("pa7 b8", "x a b c", 3, 9), Case("pa7", "x a b c", 2, 7), Case("px7", "a x c", 2, 7),
        Case("pa7 b8 pb9 c9", "a b c d", 3, 10), Case("pa7 c8", "x a b c", .nowhere),
        // All of it has, or the journal is not copied, or not from its beginning. An empty input has nothing to compare.
        Case("C5 p7", "", .nothingToCompare), Case("", "", .nothingToCompare), Case("", "a b", .nothingToCompare),
        Case("C5", "a b", .nothingToCompare), Case("C0 p7", "a b", .nothingToCompare), Case("pa7", "", .nowhere),
        Case("C5 p0", "a b", 0, 0), Case("C5 p0", "", 0, 0),
        // What was handled behind the last record that is known is not known: a newer service wrote it.
        Case("pa7-4", "a b c", .nothingToCompare),
        // Only what was handled last is still there.
        Case("a0 b1 c2 d3", "c d e f", 2, 4), Case("a0 b1 c2 d3", "d e f g", 1, 4),
        // A record of the journal was copied twice, or one of the input.
        Case("a1 pa2 a1 b2 x3", "x a b x", 4, 4), Case("a1 b2 x3", "x a b x", .ambiguous([1, 4])),
        Case("a1 b2 x3", "a b b x", .nowhere),
        // Records that the journal says little of.
        Case("a0 x1 b2", "a x b c", 3, 3), Case("a0 *1", "a b c", 2, 2), Case("*1", "a b", .nowhere),
        Case("z0 a1 *2 b3", "z a b c", .nowhere), Case("z0 a1 *2 b3", "z a x b c", 4, 4),
        // A dead letter is journaled from another, and from a command.
        Case("x4 y5 x7", "x y y x y x z", .ambiguous([1, 6])), Case("x4 px5 y5 x7", "x y y x y x z", 6, 8),
        Case("a0 x1", "a b", .nowhere), Case("a0 x1", "a y", .nowhere),
        // The input ends before the journal.
        Case("a0 b1 c2 d3", "a b", 2, 2, lacking: 2), Case("a5 b6 c7", "b", 1, 7, lacking: 1),
        Case("pa5 b5 c6", "x y a", 3, 5, lacking: 2), Case("a0 b1 c2 d3", "x b", .nowhere),
        // Repeats: the records before them tell which it is, unless these have expired.
        Case("z0 a1 b2 a3", "z a b a c", 4, 4), Case("z0 a1 b2 a3", "z a b a c a", 4, 4),
        Case("a0 b1 a2", "a b a c", .ambiguous([1, 3])), Case("a0 a1", "a a a", .ambiguous([1, 2, 3])),
        Case("a7 a8", "b a a", 3, 9), Case("a0 b1 c2 a3", "a b", .ambiguous([1, 2])), Case("pa7", "a b a c", .ambiguous([1, 3])),
        Case("a0 a1 a2", "a", 1, 3), Case("pa7", "b a c a", .ambiguous([2, 4])),
        // A note's last record and what follows it prove more than a few records that fit elsewhere.
        Case("a0 b1 pb2 a2", "a b a c", 3, 3), Case("a0 pa1 b1 c2 a3", "a b", .ambiguous([1, 2])),
        Case("a0 b1 c2 pc3", "c a b", .ambiguous([1, 3])),
        Case("a0 b1 c2 pc3 d3", "d e", 1, 4), Case("a0 b1 c2 pc3 a3", "z a b", 3, 2, lacking: 2),
        // Another log.
        Case("a0 b1", "c d", .nowhere), Case("a0 b1 c2", "a x c", .nowhere), Case("a0", "", .nowhere),
        // Behind a command.
        Case("a0 b2 c3", "a b c d", upTo: "b", 2, 3), Case("z0 a1 b2 a3", "z a b a c", upTo: "a", 4, 4),
        Case("a0 b2 c3", "a c d", upTo: "b", .nowhere), Case("a0 b1", "a", upTo: "b", .nowhere),
        Case("a0 b1", "a b", upTo: "c", .nothingToCompare),
        // Anchors: of the same log, whose earlier records say nothing, and of a copy.
        Case("a0 @9 b9", "a b c", 2, 10), Case("a0 @9", "a b", .nothingToCompare), Case("a8 @1<9", "a b", 1, 1),
        // Copied again: its oldest record has expired, or it lacks what it had.
        Case("a7 b8 @2<9", "b c", 1, 2), Case("a7 b8 @2<9", "a", .nowhere), Case("a7 b8 @1<8", "a c", 1, 1),
        Case("a7 b8 @2<9 @2<2", "a b c", 2, 2), Case("pa7 b8 @2<9 p2", "a b c", 2, 2),
        Case("a8 @1<9 b1", "a b c", 2, 2), Case("a8 @1<9 b1", "a b c", upTo: "a", .nothingToCompare),
        Case("p7", "a b", .nothingToCompare), Case("C0 p0", "a b", 0, 0),
    ]

    @Test(arguments: cases) func thePlaceIsFound(sample: Case) throws {
        var handled = CopyAlignment(
            of: InputPartition(topic: .orders, partition: 0), in: 0, upTo: sample.id, menu: .standard, partitionCount: 1)
        let reader = JournalReader(menu: .standard)
        for word in sample.journal.split(separator: " ") {
            try Array(Self.value(word).utf8).withUnsafeBytes { handled.add(try reader.read($0)) }
        }
        let words = sample.input.split(separator: " ")
        for (offset, word) in words.enumerated() where word != "." {
            let value = Self.record(word)
            Array(value.utf8).withUnsafeBytes { value in
                handled.add(
                    CommandRecord(
                        topic: .orders, partition: 0, offset: Offset(offset), timestamp: nil, key: nil, value: value, index: 0))
            }
        }
        let places = handled.places(in: 0..<Offset(words.count))
        if sample.isAmbiguous {
            #expect(places?.map(\.next) == sample.expected?.map(\.next))
        } else {
            #expect(places == sample.expected)
        }
    }

    /// The value of a record of the input.
    private static func record(_ word: Substring) -> String {
        ["x", "y"].contains(word) ? "nope \(word)" : #"{"orderId":"\#(word)","juice":"kiwi"}"#
    }

    private static func digest(_ word: Substring) -> String {
        let digest =
            if ["x", "y"].contains(word) {
                Array(record(word).utf8).withUnsafeBytes { RecordDigest(key: nil, value: $0) }
            } else {
                BorrowedText.withText(String(word)) {
                    RecordDigest(of: AnswerHead(.order, id: $0, store: BorrowedText("main"), offset: 0))
                }
            }
        return #""digest":"\#(digest.hex)""#
    }

    /// A record of the journal.
    private static func value(_ word: Substring) -> String {
        let number = word.dropFirst()
        switch word.first {
        case "x", "y":
            return #"{"type":"deadLetter","topic":"orders","offset":\#(number),"code":"notJSON",\#(digest(word.prefix(1)))}"#
        case "*": return #"{"type":"holiday","topic":"orders","offset":\#(number)}"#
        case "C": return #"{"type":"claim","ids":["i"],"since":\#(number),"group":"g","instance":"i","partitions":1}"#
        case "p":
            let id = number.prefix { $0.isLetter }
            let offsets = number.dropFirst(id.count).split(separator: "-").compactMap { Int($0) }
            let last = #","last":{"orders/0":{"offset":\#(offsets.count > 1 ? offsets[1] : offsets[0] - 1),\#(digest(id))}}"#
            return #"{"type":"position","orders":\#(offsets[0]),"claim":0,"ids":[]\#(id.isEmpty ? "" : last)}"#
        case "@":
            let parts = number.split(separator: "<")
            let copied = parts.count > 1 ? #","copied":\#(parts[1])"# : ""
            return #"{"type":"anchored","topic":"orders","offset":\#(parts[0]),"by":"b"\#(copied)}"#
        default:
            return #"{"type":"rejected","orderId":"\#(word.prefix(1))","store":"main","offset":\#(number),"#
                + #""reason":"unknownJuice","message":"m"}"#
        }
    }
}
