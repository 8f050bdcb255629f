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
        headers: [RecordHeader] = []
    ) -> DeadLetter {
        letter(bytes: value.map { Array($0.utf8) }, key: key.map { Array($0.utf8) }, code, topic, headers)
    }

    static func letter(
        bytes: [UInt8]?, key: [UInt8]?, _ code: String = "notJSON", _ topic: String = "juice.orders", _ headers: [RecordHeader] = []
    ) -> DeadLetter {
        let reasons = [
            RecordHeader(name: HeaderName.errorCode, value: code),
            RecordHeader(name: HeaderName.errorMessage, value: "why"),
            RecordHeader(name: HeaderName.sourceTopic, value: topic),
            RecordHeader(name: HeaderName.sourcePartition, value: "3"),
            RecordHeader(name: HeaderName.sourceOffset, value: "42"),
        ]
        return DeadLetter(
            position: LetterPosition(partition: 1, offset: 7), timestamp: nil, key: key, value: bytes, headers: headers + reasons)
    }

    @Test(
        arguments: [
            ("3@42", 3, 42), ("0@0", 0, 0), ("3@", nil, nil), ("@42", nil, nil), ("3", nil, nil), ("-1@2", nil, nil),
            ("1@-2", nil, nil), ("1@2@3", nil, nil), ("a@b", nil, nil), ("", nil, nil),
        ] as [(String, Int32?, Int64?)]
    )
    func readsPositions(text: String, partition: Int32?, offset: Int64?) {
        let position = LetterPosition(text)
        #expect(position?.partition == partition)
        #expect(position?.offset == offset)
        if let position { #expect(position.text == text) }
    }

    @Test func aNoteIsNoLetter() {
        let header = RecordHeader(name: HeaderName.resentLetter, value: "1/5")
        let note = DeadLetter(
            position: LetterPosition(partition: 1, offset: 9), timestamp: nil, key: nil, value: nil, headers: [header])
        #expect(note.resentLetter == LetterPosition(partition: 1, offset: 5))
        // A record that the service put aside is a letter, whatever headers its sender set.
        #expect(Self.letter("x", headers: [header]).resentLetter == nil)
    }

    /// After a crash the service may put the same record aside again.
    @Test func aLetterThatStandsTwiceCountsOnce() {
        func letter(_ offset: Offset, _ value: String, source: String?) -> DeadLetter {
            DeadLetter(
                position: LetterPosition(partition: 1, offset: offset), timestamp: 100 - offset, key: nil, value: Array(value.utf8),
                headers: source.map { [RecordHeader(name: HeaderName.sourceOffset, value: $0)] } ?? [])
        }
        func note(_ offset: Offset, of letter: Offset) -> DeadLetter {
            DeadLetter(
                position: LetterPosition(partition: 1, offset: offset), timestamp: nil, key: nil, value: nil,
                headers: [RecordHeader(name: HeaderName.resentLetter, value: "1/\(letter)")])
        }
        var found = DeadLetterReader.Letters()
        let records = [
            letter(0, "a", source: "7"), letter(1, "b", source: "8"), letter(2, "a", source: "7"),
            // In a topic that was made anew, and of somebody else.
            letter(3, "c", source: "7"), letter(4, "a", source: nil), letter(5, "a", source: nil),
            note(6, of: 2), letter(7, "a", source: "7"),
            // No notes of letters before them.
            note(8, of: 9), letter(9, "d", source: "9"),
        ]
        for record in records { found.add(record) { $0.position.offset != 3 } }
        found.sort()
        func place(_ offset: Offset) -> LetterPosition { LetterPosition(partition: 1, offset: offset) }
        #expect(found.letters.map(\.position.offset) == [9, 5, 4, 1, 0])
        #expect(found.resent == [place(0)])
        #expect([0, 1, 2, 3, 7].map { found.first(of: place($0)).offset } == [0, 1, 0, 3, 0])
        // Only those are forgotten that are shown.
        found.keep { _ in false }
        found.add(letter(10, "d", source: "9"))
        found.add(letter(11, "e", source: "10"))
        #expect(found.letters.map(\.position.offset) == [11])
    }

    @Test(arguments: [
        ("not json", "not json"), (nil, "-"), ("", ""), ("a\u{1B}[2J\nb", "a\u{FFFD}[2J\u{FFFD}b"),
        ("딸기딸기딸기딸기딸기딸기딸기딸기딸기딸기딸기", "딸기딸기딸기딸기딸기딸기딸기딸기딸기딸…"),
    ])
    func aTableShowsHowAValueBegins(value: String?, shown: String) {
        #expect(DeadLetterTable.beginning(of: value.map { Array($0.utf8) }) == shown)
    }

    @Test func whatIsNoTextIsShownInDigits() {
        #expect(DeadLetterTable.beginning(of: [0, 0xFF]) == "00 ff")
        #expect(DeadLetterTable.beginning(of: [UInt8](repeating: 0xFF, count: 14)).hasSuffix("ff …"))
        #expect(
            HexDump.lines(Array("0123456789abcdef!".utf8)) == [
                "00000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  |0123456789abcdef|",
                "00000010  21                                               |!|",
            ])
    }

    @Test func tablesLineUp() {
        let lines = DeadLetterTable.lines(
            [Self.letter("딸기"), Self.letter("kiwi", key: nil)], resent: [LetterPosition(partition: 1, offset: 7)], paint: .none)
        #expect(
            lines == [
                "position  when                 store     code        source              resent  value                     message",
                "1@7       -                    강남      notJSON     juice.orders 3@42   yes     딸기                      why",
                "1@7       -                    main      notJSON     juice.orders 3@42   yes     kiwi                      why",
            ])
    }

    @Test func aSheetShowsAll() {
        let letter = Self.letter("{}\nx", headers: [RecordHeader(name: "traceparent", value: "00-ab")])
        let sheet = DeadLetterTable.sheet(letter, isResent: false, paint: .none)
        #expect(
            sheet == """
                position  1@7
                when      -
                code      notJSON
                message   why
                source    juice.orders 3@42
                resent    no
                key       강남
                header    traceparent: 00-ab
                value     4 bytes

                {}
                x

                """
        )
        #expect(
            JSONText.line(DeadLetterJSON(Self.letter(bytes: [0xFF], key: nil), isResent: true))
                == #"{"code":"notJSON","headers":[],"message":"why","offset":7,"partition":1,"resent":true,"#
                + #""source":{"offset":42,"partition":3,"topic":"juice.orders"},"valueBase64":"/w=="}"#)
    }

    // MARK: - Resending

    private static let order = #"{"orderId":"o","juice":"kiwi"}"#

    private func plan(value: String? = nil, key: String? = nil, isUnchecked: Bool = false) -> ResendPlan {
        ResendPlan(
            topics: TopicNames(), partitionCount: 4, value: value.map { Array($0.utf8) }, key: key.map { Array($0.utf8) },
            isUnchecked: isUnchecked)
    }

    @Test func theRecordIsTheSendersOwn() throws {
        let trace = RecordHeader(name: "traceparent", value: "00-ab")
        let letter = Self.letter(
            Self.order, code: "misplaced",
            headers: [
                trace, RecordHeader(name: HeaderName.forwardedFrom, value: "3/42"),
                RecordHeader(name: HeaderName.resentFrom, value: "0/1"),
            ])
        let record = try plan().record(for: letter)
        #expect(record.topic == "juice.orders")
        // The partition that Java clients choose for 강남, of four.
        #expect(record.partition == 0)
        #expect(record.key == Array("강남".utf8))
        #expect(record.value == Array(Self.order.utf8))
        #expect(record.headers == [trace, RecordHeader(name: HeaderName.resentFrom, value: "1/7")])
    }

    @Test func aCorrectedOneIsSent() throws {
        let record = try plan(value: Self.order, key: "jamsil").record(for: Self.letter("garbage"))
        #expect(record.value == Array(Self.order.utf8))
        #expect(record.key == Array("jamsil".utf8))
        #expect(record.partition == 3)
        #expect(try plan(key: "").record(for: Self.letter(Self.order)).key == nil)
    }

    @Test func whatWouldComeBackIsRefused() throws {
        func reason(_ plan: ResendPlan, _ letter: DeadLetter) -> String? {
            #expect(throws: ResendPlan.Refusal.self) { try plan.record(for: letter) }?.reason
        }
        #expect(reason(plan(), Self.letter("garbage"))?.contains("as notJSON; correct it with --value") == true)
        #expect(reason(plan(), Self.letter("{}"))?.contains("missingID") == true)
        #expect(reason(plan(), Self.letter(nil))?.contains("emptyValue") == true)
        let long = Self.letter(Self.order, key: String(repeating: "k", count: 129))
        #expect(reason(plan(), long)?.contains("as badStore; correct it with --key") == true)
        #expect(try plan(key: "a").record(for: long).key == [UInt8(ascii: "a")])
        #expect(try plan(isUnchecked: true).record(for: Self.letter("garbage")).value == Array("garbage".utf8))
        // An order id does not make a valid restock.
        let restock = Self.letter(Self.order, topic: "juice.restocks")
        #expect(reason(plan(), restock)?.contains("missingID") == true)

        let cut = Self.letter(Self.order, headers: [RecordHeader(name: HeaderName.truncatedFrom, value: "900000")])
        #expect(reason(plan(isUnchecked: true), cut)?.contains("its value was truncated") == true)
        #expect(try plan(value: Self.order).record(for: cut).value == Array(Self.order.utf8))
        #expect(reason(plan(), Self.letter(Self.order, topic: "other.orders"))?.contains("other.orders") == true)
    }

    @Test(
        arguments: [
            ([], [:], "which dead letters?"),
            (["1@2"], ["all": "true"], "--all and positions exclude each other"),
            (["x"], [:], "\"x\" is not PARTITION@OFFSET"),
            (["1@2"], ["code": "notJSON"], "--code and --source choose"),
            (["1@2", "1@3"], ["key": "a"], "--value and --key are for one"),
            ([], ["all": "true", "value": "-"], "--value and --key are for one"),
            (["1@2"], ["value": "/no/such/file"], "the value's file /no/such/file cannot be read"),
            ([], ["all": "true", "code": "nothing"], "--code must be one of"),
            ([], ["all": "true", "source": "results"], "--source must be orders or restocks"),
        ] as [([String], [String: String], String)]
    )
    func refusesAChoice(arguments: [String], values: [String: String], message: String) throws {
        let settings = try given(values)
        let failure = #expect(throws: Failure.self) { try ResendChoice(arguments, settings) }
        #expect(failure?.message.hasPrefix(message) == true, "\(failure?.message ?? "")")
    }
}
