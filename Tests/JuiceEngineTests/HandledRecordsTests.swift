import JuiceDomain
import JuiceMessages
import Testing

@testable import JuiceEngine

/// Where a copy of an input goes on, by what its records are.
@Suite struct HandledRecordsTests {
    struct Case: CustomTestStringConvertible {
        /// The journal, such as `a5 x6 *7`: the answer to order a at offset 5, a dead letter, anything at offset 7.
        /// `C5` is a claim that was written at offset 5, `p7` a position, `@1<9` an anchor at 1, which was 9.
        let journal: String
        /// The input, such as `a x b`: orders, and a record that is no command. `.` is an offset without a record.
        let input: String
        let id: String?
        let expected: Result<HandledRecords.Place, HandledRecords.Mismatch>

        init(_ journal: String, _ input: String, upTo id: String? = nil, _ next: Offset, _ told: Offset, lacking: Int = 0) {
            (self.journal, self.input, self.id) = (journal, input, id)
            expected = .success(.init(next: next, told: told, lacking: lacking))
        }

        init(_ journal: String, _ input: String, upTo id: String? = nil, _ mismatch: HandledRecords.Mismatch) {
            (self.journal, self.input, self.id, expected) = (journal, input, id, .failure(mismatch))
        }

        var testDescription: String { "\(journal) in \(input)" }
    }

    static let cases = [
        Case("a0 b1", "a b", 2, 2), Case("a0 b1", "a b c", 2, 2), Case("C0", "a b", 0, 0), Case("C0", "", 0, 0),
        // Markers took offsets, or the oldest records had expired.
        Case("a0 b2 c5", "a b c d", 3, 6), Case("a70 b71 c72", "b c d", 2, 73), Case("a0 b1", ". a . b .", 4, 2),
        // The journal's beginning has expired.
        Case("c72", "a b c d", 3, 73),
        // All has expired but where the journal was; or the journal is not copied, or not from its beginning.
        Case("C5 p7", "", 0, 7), Case("", "", .nothingToCompare), Case("", "a b", .nothingToCompare),
        Case("C5", "a b", .nothingToCompare), Case("C0 p7", "a b", .nothingToCompare),
        // Only what was handled last is still there, or a beginning that looks the same.
        Case("a0 b1 c2 d3", "c d e f", 2, 4), Case("a0 b1 c2 d3", "d e f g", .nowhere),
        // A record of the journal was copied twice.
        Case("a1 a1 b2 x3", "x a b x", .nowhere),
        // Records that the journal says little of.
        Case("a0 x1 b2", "a x b c", 3, 3), Case("a0 *1", "a b c", 2, 2), Case("*1", "a b", .nowhere),
        // The input ends before the journal.
        Case("a0 b1 c2 d3", "a b", 2, 2, lacking: 2), Case("a5 b6 c7", "b", 1, 7, lacking: 1),
        // Repeats.
        Case("a0 b1 a2", "a b a c", 3, 3), Case("a0 b1 a2", "a b a c a", 3, 3), Case("a0 a1", "a a a", .ambiguous([2, 3])),
        Case("a7 a8", "b a a", 3, 9),
        // Another log.
        Case("a0 b1", "c d", .nowhere), Case("a0 b1 c2", "a x c", .nowhere), Case("a0", "", .nowhere),
        // Behind a command.
        Case("a0 b2 c3", "a b c d", upTo: "b", 2, 3), Case("a0 b2 a3", "a b a c", upTo: "a", 3, 4),
        Case("a0 b2 c3", "a c d", upTo: "b", .nowhere), Case("a0 b1", "a", upTo: "b", .nowhere),
        // Anchors: of the same log, whose earlier records say nothing, and of a copy.
        Case("a0 @9 b9", "a b c", 2, 10), Case("a0 @9", "a b", .nothingToCompare), Case("a8 @1<9", "a b", 1, 1),
        // Copied again: its oldest record has expired, or it lacks what it had.
        Case("a7 b8 @2<9", "b c", 1, 2), Case("a7 b8 @2<9", "a", .nowhere), Case("a7 b8 @1<8", "a c", 1, 1),
        Case("a7 b8 @2<9 @2<2", "a b c", 2, 2),
        Case("a8 @1<9 b1", "a b c", 2, 2), Case("a8 @1<9 b1", "a b c", upTo: "a", .nothingToCompare),
        Case("p7", "a b", .nothingToCompare), Case("C0 p0", "a b", 0, 0),
    ]

    @Test(arguments: cases) func thePlaceIsFound(sample: Case) throws {
        var handled = HandledRecords(
            of: InputPartition(topic: .orders, partition: 0), in: 0, upTo: sample.id, menu: .standard, partitionCount: 1)
        let reader = JournalReader(menu: .standard)
        for word in sample.journal.split(separator: " ") {
            try Array(Self.value(word).utf8).withUnsafeBytes { handled.add(try reader.read($0)) }
        }
        let words = sample.input.split(separator: " ")
        for (offset, word) in words.enumerated() where word != "." {
            let value = word == "x" ? "nope" : #"{"orderId":"\#(word)","juice":"kiwi"}"#
            Array(value.utf8).withUnsafeBytes { value in
                handled.add(
                    CommandRecord(
                        topic: .orders, partition: 0, offset: Offset(offset), timestamp: nil, key: nil, value: value, index: 0))
            }
        }
        let place = Result { () throws(HandledRecords.Mismatch) in try handled.place(in: 0..<Offset(words.count)) }
        #expect(place == sample.expected)
    }

    /// Records that the journal does not tell apart: their copies do.
    @Test func copiesTellWhatTheJournalDoesNot() throws {
        var handled = HandledRecords(
            of: InputPartition(topic: .orders, partition: 0), in: 0, upTo: nil, menu: .standard, partitionCount: 1)
        let reader = JournalReader(menu: .standard)
        for word in ["x4", "x5", "x7"] {
            try Array(Self.value(word[...]).utf8).withUnsafeBytes { handled.add(try reader.read($0)) }
        }
        let values = ["one", "two", "three", "four", "five"].map { Array($0.utf8) }
        for (offset, value) in values.enumerated() {
            value.withUnsafeBytes { value in
                handled.add(
                    CommandRecord(
                        topic: .orders, partition: 0, offset: Offset(offset), timestamp: nil, key: nil, value: value, index: 0))
            }
        }
        #expect(throws: HandledRecords.Mismatch.ambiguous([2, 3, 4, 5])) { try handled.place(in: 0..<5) }
        #expect(handled.hasLetters)
        // Anybody can write that a record is a copy.
        for (offset, number) in [(4, 1), (5, 2), (7, 3), (7, 0)] {
            values[number].withUnsafeBytes { handled.addCopy(of: Offset(offset), key: nil, value: $0) }
        }
        #expect(try handled.place(in: 0..<5) == HandledRecords.Place(next: 4, told: 8, lacking: 0))
    }

    /// A record of the journal.
    private static func value(_ word: Substring) -> String {
        let number = word.dropFirst()
        switch word.first {
        case "x": return #"{"type":"deadLetter","topic":"orders","offset":\#(number),"code":"notJSON"}"#
        case "*": return #"{"type":"copy","topic":"orders","offset":\#(number)}"#
        case "C": return #"{"type":"claim","ids":["i"],"since":\#(number),"group":"g","instance":"i","partitions":1}"#
        case "p": return #"{"type":"position","orders":\#(number),"stock":0,"claim":0,"ids":[]}"#
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
