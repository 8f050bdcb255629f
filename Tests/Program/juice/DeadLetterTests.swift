import Foundation
import JuiceMessages
import JuiceService
import Kafka
import Testing

@testable import juice

/// Tests how dead letters are read, shown and planned, without Kafka.
struct DeadLetterTests {
    static func letter(
        _ value: String?, key: String? = "강남", code: String = "notJSON", topic: String = "juice.orders",
        headers: [RecordHeader] = [], timestamp: Int64? = nil
    ) -> DeadLetter {
        let reasons = [
            (HeaderName.errorCode, code), (HeaderName.errorMessage, "why"), (HeaderName.sourceTopic, topic),
            (HeaderName.sourcePartition, "3"), (HeaderName.sourceOffset, "42"),
        ]
        return DeadLetter(
            position: place(7), timestamp: timestamp, key: key.map { Array($0.utf8) }, value: value.map { Array($0.utf8) },
            headers: headers + reasons.map { RecordHeader(name: $0, value: $1) })
    }

    private static func place(_ offset: Offset) -> RecordPosition { RecordPosition(partition: 1, offset: offset) }

    @Test(
        arguments: [
            ("3@42", 3, 42), ("0@0", 0, 0), ("3@", nil, nil), ("@42", nil, nil), ("3", nil, nil), ("-1@2", nil, nil),
            ("1@-2", nil, nil), ("1@2@3", nil, nil), ("a@b", nil, nil), ("", nil, nil), ("03@42", nil, nil), ("3/42", nil, nil),
        ] as [(String, Int32?, Int64?)]
    )
    func readsPositions(text: String, partition: Int32?, offset: Int64?) {
        let position = RecordPosition(text)
        #expect(position?.partition == partition)
        #expect(position?.offset == offset)
        if let position { #expect(position.text == text) }
    }

    /// After a crash the service may write the same letter again.
    @Test func aLetterThatIsThereTwiceCountsOnce() {
        func record(_ offset: Offset, _ value: String? = nil, _ headers: (String, String)...) -> DeadLetter {
            DeadLetter(
                position: Self.place(offset), timestamp: nil, key: nil, value: value.map { Array($0.utf8) },
                headers: headers.map { RecordHeader(name: $0, value: $1) })
        }
        func letter(_ offset: Offset, _ value: String, source: String) -> DeadLetter {
            record(offset, value, (HeaderName.sourceOffset, source))
        }
        func note(_ offset: Offset, of letter: Offset) -> DeadLetter {
            record(offset, nil, (HeaderName.resentLetter, "1/\(letter)"))
        }
        let records = [
            letter(0, "a", source: "7"), letter(1, "b", source: "8"), letter(2, "a", source: "7"),
            // From a recreated topic, and written by another program.
            letter(3, "c", source: "7"), record(4, "a"), record(5, "a"), note(6, of: 2), letter(7, "a", source: "7"),
            // A note does not count for a later letter.
            note(8, of: 9), letter(9, "d", source: "9"),
            // A record with an error code is a letter, whatever headers its sender set.
            record(10, "e", (HeaderName.resentLetter, "1/1"), (HeaderName.errorCode, "notJSON")),
        ]
        let (letters, firsts) = DeadLetterReader.letters(in: records)
        #expect(letters.map(\.position.offset) == [0, 1, 3, 4, 5, 9, 10])
        #expect(letters.filter(\.isResent).map(\.position.offset) == [0])
        #expect(firsts == [Self.place(2): Self.place(0), Self.place(7): Self.place(0)])
    }

    // MARK: - Showing

    @Test(arguments: [
        ("not json".utf8.map(\.self), "not json"), (nil, "-"), ([], ""), (Array("a\u{1B}[2J\nb".utf8), #"a\u001b[2J\u000ab"#),
        (Array(String(repeating: "딸기", count: 11).utf8), "딸기딸기딸기딸기딸기딸기딸기딸기딸기딸…"), ([0, 0xFF], "\\u0000\u{FFFD}"),
    ])
    func aTableShowsHowAValueBegins(value: [UInt8]?, shown: String) {
        #expect(DeadLetter.beginning(of: value) == shown)
    }

    @Test func tablesLineUp() {
        var resent = Self.letter("딸기")
        resent.isResent = true
        let lines = DeadLetter.table([resent, Self.letter("kiwi", key: nil)]).lines(paint: .none)
        #expect(
            lines == [
                "position  when  store  code     source             resent  value  message",
                "1@7       -     강남   notJSON  juice.orders 3@42  yes     딸기   why",
                "1@7       -     main   notJSON  juice.orders 3@42  no      kiwi   why",
            ])
    }

    @Test func aSheetShowsAll() {
        let letter = Self.letter("{}\nx", headers: [RecordHeader(name: "traceparent", value: "00-ab")])
        #expect(
            letter.sheet(paint: .none) == #"""
                position  1@7
                when      -
                code      "notJSON"
                message   "why"
                key       "강남"
                value     "{}\nx"
                source    {"offset":42,"partition":3,"topic":"juice.orders"}
                resent    false
                headers   [{"name":"traceparent","value":"00-ab"}]

                """#
        )
        let bytes = DeadLetter(
            position: Self.place(7), timestamp: 5, key: nil, value: [0xFF], headers: Self.letter(nil).headers, isResent: true)
        #expect(
            String(decoding: bytes.json, as: UTF8.self) == #"{"time":"1970-01-01T00:00:00.005Z","partition":1,"offset":7,"#
                + #""code":"notJSON","message":"why","valueBase64":"/w==","source":{"offset":42,"partition":3,"#
                + #""topic":"juice.orders"},"resent":true,"headers":[]}"#)
    }

    // MARK: - Resending

    private static let order = #"{"orderId":"o","juice":"kiwi"}"#

    private static func record(
        for letter: DeadLetter, value: String? = nil, key: String? = nil, isUnchecked: Bool = false
    ) throws -> DeadLetterResend.Record {
        let options = (key.map { ["--key", $0] } ?? []) + (isUnchecked ? ["--unchecked"] : [])
        let command = try DeadLetterResend.parse(["1@7"] + options)
        return try command.record(for: letter, value: value.map { Array($0.utf8) }, TopicNames(), partitionCount: 4)
    }

    @Test func theRecordIsTheSendersOwn() throws {
        let record = try Self.record(for: Self.letter(Self.order, code: "misplaced"))
        #expect(record.topic == .orders)
        // The partition that Java clients choose for 강남, of four.
        #expect(record.partition == 0)
        #expect(record.key == Array("강남".utf8))
        #expect(record.value == Array(Self.order.utf8))
    }

    @Test func aCorrectedOneIsSent() throws {
        let record = try Self.record(for: Self.letter("garbage"), value: Self.order, key: "jamsil")
        #expect(record.value == Array(Self.order.utf8))
        #expect(record.key == Array("jamsil".utf8))
        #expect(record.partition == 3)
        #expect(try Self.record(for: Self.letter(Self.order), key: "").key == nil)
        let garbage = try Self.record(for: Self.letter("garbage", key: String(repeating: "k", count: 129)), isUnchecked: true)
        #expect(garbage.value == Array("garbage".utf8))
    }

    private static let cut = [RecordHeader(name: HeaderName.truncatedFrom, value: "900000")]

    @Test(arguments: [
        (letter("garbage"), false, "it would become a dead letter again, as notJSON; correct it with --value"),
        (letter("{}"), false, "missingID"), (letter(nil), false, "emptyValue"),
        (letter(order, key: String(repeating: "k", count: 129)), false, "as badStore; correct it with --key"),
        // An order id does not make a valid restock.
        (letter(order, topic: "juice.restocks"), false, "wrongTopic"),
        (letter(order, headers: cut), true, "its value was truncated"),
        (letter(order, topic: "other.orders"), true, "it came from other.orders"),
    ])
    func refusesToResendUnfitLetters(letter: DeadLetter, isUnchecked: Bool, reason: String) throws {
        let refusal = #expect(throws: Failure.self) { try Self.record(for: letter, isUnchecked: isUnchecked) }
        #expect(refusal?.message.contains(reason) == true)
        guard letter.source.topic == "juice.orders" else { return }
        #expect(try Self.record(for: letter, value: Self.order, key: "a").value == Array(Self.order.utf8))
    }

    /// 1,767,225,600,000 ms is the beginning of 2026.
    @Test(arguments: [
        ([], 0, true), (["--code", "notJSON"], 0, true), (["--code", "missingID"], 0, false),
        (["--since", "2026-01-01T00:00:00Z"], 0, true), (["--since", "2026-01-01T00:00:01Z"], 0, false),
        (["--until", "2026-01-01T00:00:00Z"], 0, false), (["--until", "2026-01-01T00:00:00Z"], -1, true),
        (["--since", "2026-01-01T00:00:00Z", "--until", "2026-01-01T00:00:01Z"], 999, true),
    ])
    func aChoiceIsByReasonAndTime(arguments: [String], after: Int64, isMeant: Bool) throws {
        let test = try DeadLetterResend.parse(["--all"] + arguments).choice.test()
        #expect(test(Self.letter("a", timestamp: 1_767_225_600_000 + after)) == isMeant)
    }

    @Test(arguments: [
        ([], "which dead letters?"), (["1@2", "--all"], "--all and positions exclude each other"),
        (["x"], "it must be PARTITION@OFFSET, such as 3@42"), (["1@2", "--code", "notJSON"], "choose among --all"),
        (["1@2", "--at-most", "1"], "choose among --all"),
        (["1@2", "1@3", "--key", "a"], "--value and --key are for one"),
        (["--all", "--value", "file"], "--value and --key are for one"), (["--all", "--code", "nothing"], "it must be one of"),
    ])
    func refusesAChoice(arguments: [String], message: String) {
        let error = #expect(throws: (any Error).self) { try DeadLetterResend.parse(arguments) }
        #expect(failure(error)?.status == .usage)
        #expect(failure(error)?.message.contains(message) == true, "\(failure(error)?.message ?? "")")
    }
}
