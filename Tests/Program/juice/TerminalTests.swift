import Foundation
import JuiceDomain
import Logging
import Synchronization
import Testing

@testable import JuiceMessages
@testable import juice

struct TerminalTests {
    @Test(arguments: [
        ("", 0), ("kiwi", 4), ("딸바쥬스", 8), ("강남 1호점", 10), ("e\u{301}", 1), ("🍓", 2), ("❤️", 2), ("ｋ", 2),
        ("\u{1104}\u{1161}\u{11AF}\u{1100}\u{1175}", 4), ("👩‍🍳", 2), ("…", 1), ("█▎", 2),
    ])
    func measuresColumns(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test(arguments: [
        ("딸바쥬스", 8, "딸바쥬스"), ("딸바쥬스", 7, "딸바쥬…"), ("딸바쥬스", 6, "딸바…"), ("kiwi", 3, "ki…"), ("kiwi", 0, ""),
    ])
    func clipsToColumns(text: String, columns: Int, clipped: String) {
        #expect(DisplayWidth.clip(text, to: columns) == clipped)
    }

    @Test func tablesLineUp() {
        let table = Table(
            ["매장", "n", "note"], [[.init("강남"), .init("10"), .init("a")], [.init("main"), .init("–"), .init("")]])
        #expect(table.lines(paint: .none) == ["매장   n  note", "강남  10  a", "main   –"])
    }

    @Test func stockIsInMenuOrderWithUnknownFruitsLast() {
        let record = StockRecord(
            store: "강남", revision: 1, stock: [FruitAmount(fruit: "yuzu", amount: 3), FruitAmount(fruit: "kiwi", amount: 5)])
        #expect(
            Table.stock([record], .standard, .korean).lines(paint: .none) == [
                "매장  딸기  바나나  파인애플  키위  망고  yuzu", "강남     –       –         –     5     –     3",
            ])
    }

    @Test func nothingSteersTheTerminalOrTurnsTheTextAroundIt() {
        #expect("a\u{1B}[2Jb\u{9B}c\n".printable == #"a\u001b[2Jb\u009bc\u000a"#)
        // Directions, line ends, characters without width, a byte order mark, a filler, a tag.
        for (scalar, escape) in [
            ("\u{202E}", "202e"), ("\u{2066}", "2066"), ("\u{200F}", "200f"), ("\u{61C}", "061c"), ("\u{2028}", "2028"),
            ("\u{85}", "0085"), ("\u{200B}", "200b"), ("\u{200D}", "200d"), ("\u{2060}", "2060"), ("\u{FEFF}", "feff"),
            ("\u{AD}", "00ad"), ("\u{3164}", "3164"), ("\u{FE0F}", "fe0f"), ("\u{E0041}", "db40\\udc41"),
        ] {
            #expect("a\(scalar)b".printable == "a\\u\(escape)b")
            #expect(Table.Cell("a\(scalar)b").text == "a\\u\(escape)b")
        }
        // Characters that shape an emoji are kept.
        for text in ["딸기 👩‍👩‍👧 é ❤️", "\u{5D0}\u{5D1}"] { #expect(text.printable == text) }
    }

    @Test func jsonSteersNoTerminal() throws {
        let text = "a\u{9B}2Jb\u{7F}\u{202E}\u{2028}\n\u{1B}딸기"
        let line = JSONText.line([text])
        #expect(line == #"["a\u009b2Jb\u007f\u202e\u2028\n\u001b딸기"]"#)
        #expect(try JSONDecoder().decode([String].self, from: Data(line.utf8)) == [text])
        #expect(try JSONText.indented(["a": 1]).contains("\n"), "lines are the formatting's own")

        let record = Array("{\"a\":\"\u{9B}\"}".utf8)
        #expect(StandardOutput.jsonLine(record, toTerminal: true) == Array(#"{"a":"\u009b"}"#.utf8) + [10])
        #expect(StandardOutput.jsonLine(record, toTerminal: false) == record + [10])
    }

    @Test(arguments: [
        ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false), (["TERM": "dumb"], false),
    ])
    func coloursOnlyWhereWanted(environment: [String: String], wanted: Bool) {
        #expect(Paint.wantsColour(environment) == wanted)
    }

    @Test func answersAreOneLine() throws {
        let answer = try Answer(json: AnswerSample.rejected.record(id: "pos-1", store: "강남", isRepeat: true))
        let message = #"no juice is called "<b>durian</b>\u000a"  (repeated)"#
        #expect(AnswerCells.of(answer).map(\.text) == ["강남", "rejected", "pos-1", message])
    }

    /// Lines are written before the next ones are known. A single long text moves no other.
    @Test func columnsAreAsWideAsWhatTheyHold() {
        var columns = TableColumns(paint: .none, narrowest: 2)
        func lines(_ ids: [String]) -> [String] { columns.lines(ids.map { [.init($0), .init("x")] }) }
        let (id, endless) = (String(repeating: "i", count: 42), String(repeating: "e", count: 60))
        #expect(lines(["a"]) == ["a   x"])
        #expect(lines(["a", id]).map(\.count) == [45, 45])
        #expect(lines(["a", endless]).map(\.count) == [Table.widest + 3, 63])
        #expect(lines(["a"]).map(\.count) == [Table.widest + 3])
    }

    @Test func timesNameTheirZoneAndCanBeGiven() {
        for text in [DateTime.text(milliseconds: 1_769_862_896_000), DateTime.exactText(milliseconds: 1_769_862_896_000)] {
            #expect(text.contains(/(Z|[+-]\d\d:\d\d)$/))
            #expect(TimeText.milliseconds(text) == 1_769_862_896_000)
        }
    }
}

@Suite struct LoggerTests {
    private func lines(_ format: LogFormat, _ body: (Logger) -> Void) -> [String] {
        let lines = Mutex<[String]>([])
        let sink = { @Sendable (line: String) in lines.withLock { $0.append(line) } }
        body(Logger.lines(level: .info, format: format, sink: sink))
        return lines.withLock { $0 }
    }

    @Test func peopleGetTheTimeAndPairs() throws {
        let line = try #require(
            lines(.text) { logger in
                var logger = logger
                logger[metadataKey: "worker"] = "0"
                logger.debug("not this one")
                logger.warning("partition stopped\nhere", metadata: ["partition": "3"])
            }.first)
        let parts = line.split(separator: " ", maxSplits: 1)
        #expect(parts.first?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
        #expect(parts.last == "warning partition stopped\\u000ahere partition=3 worker=0")
    }

    @Test func programsGetAnObject() throws {
        let line = try #require(lines(.json) { $0.error("\"딸기\"\n/", metadata: ["topic": "juice.orders", "level": "mine"]) }.first)
        #expect(line.hasSuffix(#""level":"error","message":"\"딸기\"\n/","topic":"juice.orders"}"#))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(object["level"] == "error")
        let time = try #require(object["time"])
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }
}
