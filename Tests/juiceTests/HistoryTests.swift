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

    private func print(_ format: any AnswerFormat, printsJSON: Bool = false, _ records: [String] = all) -> [String] {
        AnswerPrinter.lines(of: format, printsJSON: printsJSON) { printer in
            for (offset, json) in records.enumerated() {
                printer.print(
                    ResultsReader.Entry(
                        answer: try? Answer(json: json), bytes: Array(json.utf8),
                        place: RecordPlace(timestamp: nil, partition: 0, offset: Int64(offset))))
            }
            #expect(!printer.isEmpty)
        }
    }

    @Test func theHistoryIsTheChangesAndWhatIsMissing() {
        let lines = print(HistoryFormat(paint: .none))
        #expect(
            lines.map { String($0.drop { $0 == " " }) } == [
                "17  order b: 2 × kiwi, mango  used kiwi 6, mango 2  left kiwi 4, mango 8",
                "18  restock d  left kiwi 8, mango 0",
                "revisions 19 to 21 are missing",
                "22  cancel b  returned kiwi 6  left kiwi 14",
                "revisions 23 to 24 are missing",
                "25  restock f  left kiwi 1",
            ])
    }

    @Test func forProgramsItIsRecordsAndWhatIsMissing() {
        func line(_ offset: Int, _ record: String) -> String { #"{"partition":0,"offset":\#(offset),"record":\#(record)}"# }
        func missing(_ offset: Int, _ from: Int, _ to: Int) -> String {
            #"{"partition":0,"offset":\#(offset),"missing":{"from":\#(from),"#
                + #""message":"revisions \#(from) to \#(to) are missing","store":"g","to":\#(to)}}"#
        }
        #expect(
            print(HistoryFormat(paint: .none), printsJSON: true) == [
                line(0, Self.made), line(1, Self.restocked), missing(4, 19, 21), line(4, Self.cancelled), missing(6, 23, 24),
                line(6, Self.newest),
            ])
    }

    /// A line of yesterday would pass for one of today.
    @Test func linesHaveDatesOnceOneIsNotOfToday() throws {
        let today = DateTime.today()
        var format = ResultsFormat(paint: .none)
        let times = [0, -1, 0].map { today.lowerBound + $0 }
        let lines = try times.map { time in
            let place = RecordPlace(timestamp: time, partition: 0, offset: 0)
            return format.line(ResultsReader.Entry(answer: try Answer(json: Self.made), bytes: [], place: place))
        }
        #expect(lines[0].hasPrefix("00:00:00  g "))
        #expect(lines[1].hasPrefix(DateTime.text(milliseconds: times[1]) + "  g "))
        #expect(lines[1].contains(" 23:59:59  "))
        #expect(lines[2].hasPrefix(DateTime.text(milliseconds: times[2]) + "  g "))
    }

    @Test func theRevisionsOfOneOrderHaveNoGaps() {
        let lines = AnswerPrinter.lines(of: ResultsFormat(paint: .none), findsGaps: false) { printer in
            for json in [Self.made, Self.cancelled] {
                let place = RecordPlace(timestamp: nil, partition: 0, offset: 0)
                printer.print(ResultsReader.Entry(answer: try? Answer(json: json), bytes: [], place: place))
            }
        }
        #expect(lines.count == 2)
    }

    @Test func resultsShowAllAnswersAndNotesAndWhatIsMissing() {
        let lines = print(ResultsFormat(paint: .none))
        #expect(lines.count == Self.all.count + 2)
        #expect(lines[3] == "partition 0 offset 3  " + Self.note)
        #expect(lines[4] == "g             missing       revisions 19 to 21 are missing")
        #expect(lines[5] == "g             cancelled     b                 m")
        #expect(lines[7] == "g             missing       revisions 23 to 24 are missing")
    }

    @Test func everyStoreHasRevisionsOfItsOwn() {
        let answers = [("a", 7), ("b", 1), ("a", 8), ("b", 3)].map { store, revision in
            #"{"type":"restocked","restockId":"d","store":"\#(store)","offset":1,"left":{},"revision":\#(revision),"message":""}"#
        }
        let lines = print(ResultsFormat(paint: .none), answers)
        #expect(lines.count == 5)
        #expect(lines[3] == "b             missing       revision 2 is missing")
    }
}

extension AnswerPrinter {
    /// The lines that a printer prints during a body.
    static func lines(
        of format: any AnswerFormat, printsJSON: Bool = false, findsGaps: Bool = true, _ body: (AnswerPrinter) throws -> Void
    ) rethrows -> [String] {
        var bytes: [UInt8] = []
        let printer = AnswerPrinter(format, printsJSON: printsJSON, findsGaps: findsGaps, to: BatchedOutput { bytes += $0 })
        try body(printer)
        printer.flush()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
