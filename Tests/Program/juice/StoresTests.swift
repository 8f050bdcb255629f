import Foundation
import Testing

@testable import JuiceMessages
@testable import juice

/// The list of known stores, and `juice stores`.
@Suite struct StoresTests {
    private static let decomposed = "강남".decomposedStringWithCanonicalMapping

    @Test(
        arguments: [
            ("a,b", ["a", "b"]), ("강남", ["강남"]), ("a@", ["a@"]), ("@", ["@"]),
            ("", nil), ("a,,b", nil), ("a,a", nil), ("a, b", nil), ("a\r", nil), (decomposed, nil), ("a\u{200B}", nil),
            (String(repeating: "a", count: 129), nil),
        ] as [(String, [String]?)])
    func aListIsOfIDs(text: String, ids: [String]?) throws {
        let list = StoreList(text)
        #expect(try list?.ids() == ids)
        #expect(list?.description ?? text == text)
    }

    @Test(arguments: [
        ("a\nb", ["a", "b"], ""), ("\u{FEFF}# all\r\n\r\n a \r\na b,c\r\n", ["a", "a b,c"], ""),
        (#""a ""# + "\n" + #""\u1100""# + "\n\"#\"", ["a ", "\u{1100}", "#"], ""),
        ("a\nb\na", [], "names a twice, in lines 1 and 3"),
        ("a\n\u{200B}b", [], "in line 2 that cannot be seen"), (decomposed, [], "in line 1"),
        ("\"a", [], "no store's id in line 1"),
        (String(repeating: "a", count: 129), [], "no store's id in line 1"), ("\n#a\n", [], "names no store"),
    ])
    func aFileHasOneALine(text: String, names: [String], fault: String) throws {
        try withFile(text) { path in
            let list = try #require(StoreList("@\(path)"))
            let read = Result { try list.ids() }
            switch read {
            case .success(let read): #expect(read == names)
            case .failure(let error):
                let failure = error as? Failure
                #expect(!fault.isEmpty && failure?.message.contains(fault) == true && failure?.status == .configuration)
            }
            // A forgotten @.
            #expect(throws: Failure.self) { try StoreList(path)?.ids() }
            #expect(throws: Failure.self) { try StoreList("@\(path).txt")?.ids() }
        }
    }

    @Test func serveReadsTheListOfStores() throws {
        #expect(try ServeOptions.parse(["--stores", "a,b"]).configuration().stores?.count == 2)
        #expect(try ServeOptions.parse([]).configuration().stores == nil)
    }

    @Test func namesThatLookAlikeAreMarked() {
        func entry(_ store: String, _ revision: Int) -> StockReader.Entry {
            StockReader.Entry(
                record: StockRecord(store: store, revision: revision, stock: []), bytes: [],
                place: RecordPlace(timestamp: 0, partition: 3, offset: 7))
        }
        let entries = [entry("gangnam", 17), entry("gangnam\r", 1), entry(Self.decomposed, 2)]
        let rows = StoreRows(entries, known: ["gangnam", "강남"])
        let lines = rows.table.lines(paint: .none).map { $0.replacing(/\d{4}-\S+ \S+/, with: "TIME") }
        let jamo = #""\u1100\u1161\u11bc\u1102\u1161\u11b7""#
        #expect(
            lines.map { $0.split(separator: /[ ]{2,}/).joined(separator: "|") } == [
                "store|changes|last change|partition", #"gangnam|17|TIME|3|looks like "gangnam\u000d""#,
                #""gangnam\u000d"|1|TIME|3|not on the list; looks like gangnam"#, "\(jamo)|2|TIME|3|not on the list; looks like 강남",
                "강남|0|never|looks like \(jamo)",
            ])
        #expect(
            rows.json.first.map { String(decoding: $0, as: UTF8.self) }
                == #"{"time":"1970-01-01T00:00:00.000Z","partition":3,"offset":7,"store":"gangnam","revision":17,"#
                + #""looksLike":["gangnam\r"],"isKnown":true}"#)
        let unlisted = StoreRows(entries, known: nil).json.map { String(decoding: $0, as: UTF8.self) }
        #expect(unlisted.count == 3 && !unlisted.contains { $0.contains("isKnown") })
    }
}
