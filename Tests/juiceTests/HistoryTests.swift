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
                        answer: try? Answer(json: json), bytes: Array(json.utf8), timestamp: nil, partition: 0,
                        offset: Int64(offset)))
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
        func missing(_ from: Int, _ to: Int) -> String {
            #"{"from":\#(from),"message":"revisions \#(from) to \#(to) are missing","store":"g","to":\#(to),"#
                + #""type":"revisionsMissing"}"#
        }
        #expect(
            print(HistoryFormat(paint: .none), printsJSON: true) == [
                Self.made, Self.restocked, missing(19, 21), Self.cancelled, missing(23, 24), Self.newest,
            ])
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
        of format: any AnswerFormat, printsJSON: Bool = false, _ body: (AnswerPrinter) throws -> Void
    ) rethrows -> [String] {
        var bytes: [UInt8] = []
        let printer = AnswerPrinter(format, printsJSON: printsJSON, to: BatchedOutput { bytes += $0 })
        try body(printer)
        printer.flush()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}
