import JuiceDomain
import Testing

@testable import JuiceEngine
@testable import JuiceMessages

/// Where reading resumes in a copy of an input, found by comparing records.
@Suite struct CopiedInputsTests {
    struct Case: CustomTestStringConvertible {
        /// The journal, such as `a5 x6 *7`: the answer to order a at offset 5, a dead letter, a record type of a newer service.
        /// `C5` is a claim whose `since` is 5, `p7` a position note, `@1<9` an anchor at offset 1, which was 9 in the original.
        /// `pa7` is a position note whose last handled record is order a at offset 6, and `pa7-4` has it at offset 4.
        let journal: String
        /// The input, such as `a x b`: orders, and a record that is no command. `.` is an offset without a record.
        let input: String
        /// The offsets at which reading may resume; nil if the journal does not say what was handled last.
        let expected: [Offset]?

        init(_ journal: String, _ input: String, _ expected: Offset...) {
            (self.journal, self.input, self.expected) = (journal, input, expected)
        }

        init(nothingToCompare journal: String, _ input: String) {
            (self.journal, self.input, expected) = (journal, input, nil)
        }

        var testDescription: String { "\(journal) in \(input)" }
    }

    static let cases = [
        Case("a0 b1", "a b", 2), Case("a0 b1", "a b c", 2), Case("C0", "a b", 0), Case("C0", "", 0),
        // Markers took offsets, or the oldest records had expired.
        Case("a0 b2 c5", "a b c d", 3), Case("a70 b71 c72", "b c d", 2), Case("a0 b1", ". a . b .", 4),
        // The journal's beginning has expired.
        Case("c72", "a b c d", 3), Case("pa7 b8", "x a b c", 3), Case("pa7", "x a b c", 2), Case("px7", "a x c", 2),
        Case("pa7 b8 pb9 c9", "a b c d", 3), Case("pa7 c8", "x a b c"),
        // The whole journal has expired, or is not copied, or not from its beginning. An empty input has nothing to compare.
        Case(nothingToCompare: "C5 p7", ""), Case(nothingToCompare: "", ""), Case(nothingToCompare: "", "a b"),
        Case(nothingToCompare: "C5", "a b"), Case(nothingToCompare: "C0 p7", "a b"), Case("pa7", ""),
        Case("C5 p0", "a b", 0), Case("C5 p0", "", 0),
        // A newer service wrote what follows the last known record, so the last handled record is not known.
        Case(nothingToCompare: "pa7-4", "a b c"), Case(nothingToCompare: "a0 *1", "a b c"),
        Case(nothingToCompare: "*1", "a b"), Case("z0 a1 *2 b3", "z a x b c", 4), Case("a0 *1 pa2-0 b2", "a x b", 3),
        // Only what was handled last is still there.
        Case("a0 b1 c2 d3", "c d e f", 2), Case("a0 b1 c2 d3", "d e f g", 1),
        // A record of the journal was copied twice, or one of the input.
        Case("a1 pa2 a1 b2 x3", "a b x", 3), Case("a1 b2 x3", "x a b x", 1, 4), Case("a1 b2 x3", "a b b x"),
        Case("a0 b1", "a b b", 2),
        // Dead letters are distinguished from each other and from commands.
        Case("a0 x1 b2", "a x b c", 3), Case("x4 y5 x7", "x y y x y x z", 1, 6), Case("a0 x1", "a b"), Case("a0 x1", "a y"),
        // The input ends before the journal.
        Case("a0 b1 c2 d3", "a b"), Case("a0 b1 c2 d3", "x b"),
        // Repeats: earlier records show which one it is, unless they have expired.
        Case("z0 a1 b2 a3", "z a b a c", 4), Case("z0 a1 b2 a3", "z a b a c a", 4), Case("a0 b1 a2", "a b a c", 1, 3),
        Case("a0 a1", "a a a", 1, 2, 3), Case("a7 a8", "b a a", 3), Case("pa7", "a b a c", 1, 3),
        // Another log.
        Case("a0 b1", "c d"), Case("a0 b1 c2", "a x c"), Case("a0", ""),
        // Anchors in the same log, where records before them prove nothing, and in a copy.
        Case("a0 @9 b9", "a b c", 2), Case(nothingToCompare: "a0 @9", "a b"), Case("a8 @1<9", "a b", 1),
        // Copied again: the oldest record has expired, or a record is missing.
        Case("a7 b8 @2<9", "b c", 1), Case("a7 b8 @2<9", "a"), Case("a7 b8 @1<8", "a c", 1), Case("a7 b8 @2<9 @2<2", "a b c", 2),
        Case("pa7 b8 @2<9 p2", "a b c", 2), Case("a8 @1<9 b1", "a b c", 2), Case("a8 @1<9 b1", "b c", 1),
        Case(nothingToCompare: "p7", "a b"), Case("C0 p0", "a b", 0),
    ]

    /// Reads a journal, its positions included, and then a copy.
    private static func places(journal: String, input words: [Substring]) throws -> [Offset]? {
        let input = InputPartition(topic: .orders, partition: 0)
        var (copies, progress) = (
            CopiedInputs(storePartition: 0, window: .standard, reader: CommandReader(menu: .standard, partitionCount: 1)),
            JournalProgress(storePartition: 0)
        )
        let reader = JournalReader(menu: .standard)
        for word in journal.split(separator: " ") {
            try Array(value(word).utf8).withUnsafeBytes {
                let record = try reader.read($0)
                copies.add(record)
                progress.restore(record)
            }
        }
        for (offset, word) in words.enumerated() where word != "." {
            Array(record(word).utf8).withUnsafeBytes { value in
                copies.add(
                    CommandRecord(
                        topic: .orders, partition: 0, offset: Offset(offset), timestamp: nil, key: nil, value: value, index: 0))
            }
        }
        return copies.places(of: input, after: progress.positions[input], in: 0..<Offset(words.count))
    }

    @Test(arguments: cases) func thePlaceIsFound(sample: Case) throws {
        #expect(try Self.places(journal: sample.journal, input: sample.input.split(separator: " ")) == sample.expected)
    }

    /// Only the last few records of the journal and of the input are kept.
    @Test func thePlaceIsFoundAmongMany() throws {
        let ids = (0..<1000).map { "\(UnicodeScalar(UInt8(97 + $0 % 15)))" }
        let journal = ids.prefix(700).enumerated().map { "\($1)\($0)" }.joined(separator: " ")
        var input = ids.map { Substring($0) }
        #expect(try Self.places(journal: journal, input: input)?.contains(700) == true)
        input[690] = "x"
        #expect(try Self.places(journal: journal, input: input)?.contains(700) == false)
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
