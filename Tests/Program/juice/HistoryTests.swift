import JuiceMessages
import MessageSamples
import Testing

@testable import juice

struct HistoryTests {
    private static let made = #"""
        {"type":"juiceMade","orderId":"b","store":"g","offset":1,"items":[{"juice":"kiwi","quantity":2},\#
        {"juice":"mango","quantity":1}],"used":{"kiwi":6,"mango":2},"left":{"kiwi":4,"mango":8},"revision":17,"message":"m"}
        """#
    private static let restocked =
        #"{"type":"restocked","restockId":"d","store":"g","offset":1,"left":{"kiwi":8,"mango":0},"revision":18,"message":"m"}"#
    private static let cancelled =
        #"{"type":"cancelled","orderId":"b","store":"g","offset":1,"returned":{"kiwi":6},"left":{"kiwi":14},"revision":22,"message":"m"}"#
    private static let nothing =
        #"{"type":"cancelled","orderId":"c","store":"g","offset":1,"returned":{},"left":{},"message":"m"}"#
    private static let repeated =
        #"{"type":"restocked","duplicate":true,"restockId":"d","store":"g","offset":1,"left":{"kiwi":8},"revision":18,"message":"m"}"#
    private static let newest =
        #"{"type":"restocked","restockId":"f","store":"g","offset":1,"left":{"kiwi":1},"revision":25,"message":"m"}"#

    private static let note = #"{"type":"copy","topic":"orders","offset":45}"#

    private static let all = [made, restocked, repeated, note, cancelled, nothing, newest]

    private func print(showsChanges: Bool, printsJSON: Bool = false, _ records: [String] = all) -> [String] {
        AnswerPrinter.lines(AnswerFilter(showsOnlyChanges: showsChanges), printsJSON: printsJSON) { printer in
            for (offset, json) in records.enumerated() {
                let entry = AnswerFilter.Entry(
                    answer: try? Answer(json: json), isNote: json == Self.note, bytes: Array(json.utf8),
                    place: RecordPlace(timestamp: nil, partition: 0, offset: Int64(offset)))
                if entry.isChange || !showsChanges { printer.print(entry) }
            }
            #expect(!printer.isEmpty)
        }.map { $0.hasPrefix("-  ") ? String($0.dropFirst(14)) : $0 }
    }

    @Test func showsChangesAndMissingRevisions() {
        #expect(
            print(showsChanges: true).map { $0.split(separator: /[ ]{2,}/).joined(separator: "|") } == [
                "g|made|b|m|revision 17|used kiwi 6, mango 2|left kiwi 4, mango 8",
                "g|restocked|d|m|revision 18|left kiwi 8, mango 0",
                "g|missing|revisions 19 to 21 are missing",
                "g|cancelled|b|m|revision 22|left kiwi 14",
                "g|missing|revisions 23 to 24 are missing",
                "g|restocked|f|m|revision 25|left kiwi 1",
            ])
    }

    @Test func printsChangesAndMissingRevisionsAsJSON() {
        func line(_ offset: Int, _ record: String) -> String { #"{"partition":0,"offset":\#(offset),"record":\#(record)}"# }
        func missing(_ offset: Int, _ from: Int, _ to: Int) -> String {
            #"{"partition":0,"offset":\#(offset),"missing":{"from":\#(from),"#
                + #""message":"revisions \#(from) to \#(to) are missing","store":"g","to":\#(to)}}"#
        }
        #expect(
            print(showsChanges: true, printsJSON: true) == [
                line(0, Self.made), line(1, Self.restocked), missing(4, 19, 21), line(4, Self.cancelled), missing(6, 23, 24),
                line(6, Self.newest),
            ])
    }

    @Test func linesBeginWithDateAndTime() throws {
        let place = RecordPlace(timestamp: 1_769_862_896_089, partition: 0, offset: 0)
        let lines = try AnswerPrinter.lines {
            $0.print(AnswerFilter.Entry(answer: try Answer(json: Self.made), bytes: [], place: place))
        }
        #expect(lines.first?.hasPrefix("\(DateTime.text(milliseconds: 1_769_862_896_089))  g  ") == true)
    }

    @Test func theRevisionsOfOneOrderHaveNoGaps() {
        let lines = AnswerPrinter.lines(AnswerFilter(id: "b")) { printer in
            for json in [Self.made, Self.cancelled] {
                let place = RecordPlace(timestamp: nil, partition: 0, offset: 0)
                printer.print(AnswerFilter.Entry(answer: try? Answer(json: json), bytes: [], place: place))
            }
        }
        #expect(lines.count == 2)
    }

    @Test func showsAnswersNotesAndMissingRevisions() {
        let lines = print(showsChanges: false)
        #expect(lines.count == Self.all.count + 2)
        #expect(lines[3] == "partition 0 offset 3  " + Self.note)
        #expect(lines[4] == "g             missing                     revisions 19 to 21 are missing")
        #expect(lines[5] == "g             cancelled     b             m")
        #expect(lines[7] == "g             missing                     revisions 23 to 24 are missing")
    }

    @Test func everyStoreHasRevisionsOfItsOwn() {
        let answers = [("a", 7), ("b", 1), ("a", 8), ("b", 3)].map { store, revision in
            #"{"type":"restocked","restockId":"d","store":"\#(store)","offset":1,"left":{},"revision":\#(revision),"message":""}"#
        }
        let lines = print(showsChanges: false, answers)
        #expect(lines.count == 5)
        #expect(lines[3] == "b             missing                     revision 2 is missing")
    }
}

extension AnswerPrinter {
    /// The lines that a printer prints during a body.
    static func lines(
        _ filter: AnswerFilter = AnswerFilter(), printsJSON: Bool = false, _ body: (AnswerPrinter) throws -> Void
    ) rethrows -> [String] {
        var bytes: [UInt8] = []
        let printer = AnswerPrinter(filter, printsJSON: printsJSON, paint: .none, to: { bytes += $0 })
        try body(printer)
        printer.flush()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
