import JuiceMessages
import MessageSamples
import Testing

@testable import juice

struct HistoryTests {
    private static let note = GoldenNotes.all[0].value

    /// An order and what follows, with two gaps in the revisions.
    private let all: [String]

    init() throws {
        let shop = Shop(store: "g", revision: 16)
        func restock(_ id: String, kiwis: Int) throws -> (first: String, again: String) {
            try shop.answer(.restock(id: id, store: "g", .set, [FruitAmount(fruit: "kiwi", amount: kiwis)]))
        }
        let items = [OrderedJuice(juice: "kiwi"), OrderedJuice(juice: "mango")]
        let made = try shop.answer(.order(id: "b", store: "g", items)).first
        let edit = try restock("d", kiwis: 0)
        for _ in 19...21 { _ = try restock("lost", kiwis: 8) }
        let cancels = try ["b", "c"].map { try shop.answer(.cancel(id: $0, store: "g")).first }
        for _ in 23...24 { _ = try restock("lost", kiwis: 8) }
        all = [made, edit.first, edit.again, Self.note] + cancels + [try restock("f", kiwis: 1).first]
    }

    private func print(showsChanges: Bool, printsJSON: Bool = false, _ records: [String]? = nil) -> [String] {
        AnswerPrinter.lines(AnswerFilter(showsOnlyChanges: showsChanges), printsJSON: printsJSON) { printer in
            for (offset, json) in (records ?? all).enumerated() {
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
                "g|made|b|juice made: kiwi juice, mango juice|revision 17|used kiwi 3, mango 3|left kiwi 7, mango 7",
                "g|restocked|d|restocked: kiwi now 0|revision 18|left kiwi 0",
                "g|missing|revisions 19 to 21 are missing",
                "g|cancelled|b|cancelled: kiwi 3, mango 3 returned|revision 22|left kiwi 11, mango 10",
                "g|missing|revisions 23 to 24 are missing",
                "g|restocked|f|restocked: kiwi now 1|revision 25|left kiwi 1",
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
                line(0, all[0]), line(1, all[1]), missing(4, 19, 21), line(4, all[4]), missing(6, 23, 24), line(6, all[6]),
            ])
    }

    @Test func linesBeginWithDateAndTime() throws {
        let place = RecordPlace(timestamp: 1_769_862_896_089, partition: 0, offset: 0)
        let lines = try AnswerPrinter.lines {
            $0.print(AnswerFilter.Entry(answer: try Answer(json: all[0]), bytes: [], place: place))
        }
        #expect(lines.first?.hasPrefix("\(DateTime.text(milliseconds: 1_769_862_896_089))  g  ") == true)
    }

    @Test func theRevisionsOfOneOrderHaveNoGaps() {
        let lines = AnswerPrinter.lines(AnswerFilter(id: "b")) { printer in
            for json in [all[0], all[4]] {
                let place = RecordPlace(timestamp: nil, partition: 0, offset: 0)
                printer.print(AnswerFilter.Entry(answer: try? Answer(json: json), bytes: [], place: place))
            }
        }
        #expect(lines.count == 2)
    }

    @Test func showsAnswersNotesAndMissingRevisions() {
        let lines = print(showsChanges: false)
        #expect(lines.count == all.count + 2)
        #expect(lines[3] == "partition 0 offset 3  " + Self.note)
        #expect(lines[4] == "g             missing                     revisions 19 to 21 are missing")
        #expect(lines[5] == "g             cancelled     b             cancelled: kiwi 3, mango 3 returned")
        #expect(lines[7] == "g             missing                     revisions 23 to 24 are missing")
    }

    @Test func everyStoreHasRevisionsOfItsOwn() throws {
        let answers = try [("a", 7), ("b", 1), ("a", 8), ("b", 3)].map { store, revision in
            try Shop(store: store, revision: revision - 1).answer(.order(id: "d", store: store, juice: "kiwi")).first
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
