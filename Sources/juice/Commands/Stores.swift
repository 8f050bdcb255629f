import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Kafka

struct StoresCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stores", abstract: "List the stores.",
        discussion: """
            Reads the stock topic: a row for each store that was ever changed, with the number of changes and \
            the time of the last one. A name with anything that cannot be seen is quoted, and names that look alike are marked.

            With --stores it says which of them the service would not serve, and which of the list were never changed. To begin \
            such a list:
              juice stores --json | jq .store > stores.txt

            Examples:
              juice stores
              juice stores --stores @stores.txt
              juice stores --json | jq -r 'select(.revision < 3) | .store'
            """
    )

    @Option("The stores that the service is to serve. Unless given, it serves all.", .stores) var stores: StoreList?
    @Flag("Print a line of JSON for each store.") var json = false
    @OptionGroup var client: ClientOptions

    func run() throws {
        let known = try stores?.ids()
        let reader = try StockReader(KafkaClients(client), store: nil)
        let rows = StoreRows(reader.latest, known: known)
        if json { return StandardOutput.jsonLines(rows.json) }
        guard !rows.json.isEmpty else { return StandardError.write("nothing has changed any store yet\n") }
        rows.table.print()
        StandardError.write("\(rows.json.count.counted("store"))\n")
    }
}

struct StoreRows {
    let table: Table
    private(set) var json: [[UInt8]] = []

    init(_ entries: [StockReader.Entry], known: [String]?) {
        let listed = known.map { Set($0.map(Name.init)) }
        let changed = Set(entries.map { Name($0.record.store) })
        let unchanged = (known ?? []).filter { !changed.contains(Name($0)) }.sorted()
        let alike = Dictionary(grouping: entries.map(\.record.store) + unchanged, by: StoreID.look)
        var rows: [[Table.Cell]] = []
        for (store, entry) in entries.map({ ($0.record.store, $0) }) + unchanged.map({ ($0, nil) }) {
            let (revision, place) = (entry?.record.revision ?? 0, entry?.place)
            let others = (alike[StoreID.look(of: store)] ?? []).lazy.filter { Name($0) != Name(store) }.prefix(3)
            let isKnown = listed?.contains(Name(store))
            let members = [
                ("store", JSONText.line(store)), ("revision", "\(revision)"), ("looksLike", JSONText.line(Array(others))),
            ]
            json.append(RecordLine.json(place, members + (isKnown.map { [("isKnown", "\($0)")] } ?? []), record: nil))
            let notes = [
                isKnown == false ? "not on the list" : nil,
                others.isEmpty ? nil : "looks like \(others.map(StoreID.visible).joined(separator: ", "))",
            ]
            rows.append([
                .init(StoreID.visible(store), .bold), .init("\(revision)"),
                .init(place.map { $0.timestamp.map(DateTime.text) ?? "-" } ?? "never"),
                .init(place.map { "\($0.partition)" } ?? ""),
                .init(notes.compactMap(\.self).joined(separator: "; "), .yellow),
            ])
        }
        table = Table(["store", "changes", "last change", "partition", ""], rows)
    }
}

// MARK: - Lists of stores

/// The stores that a setting lists, or the file that lists them.
struct StoreList: Sendable, CustomStringConvertible {
    /// As it was given: ids separated by commas, or `@` and a path.
    let description: String

    private var names: [String] { description.split(separator: ",", omittingEmptySubsequences: false).map(String.init) }

    private var isFile: Bool { description.hasPrefix("@") && description.count > 1 }

    /// Returns nil if an id is invalid, is listed twice, or would be shown in quotes: see ``StoreID/visible(_:)``.
    init?(_ text: String) {
        description = text
        let areVisible = names.allSatisfy { StoreID.isValid($0) && StoreID.visible($0) == $0 }
        guard isFile || areVisible && Set(names.map(Name.init)).count == names.count else { return nil }
    }

    func ids() throws(Failure) -> [String] {
        if isFile { return try Self.read(String(description.dropFirst())) }
        // A forgotten @ is more likely than a store of that name.
        if names.count == 1, FileManager.default.fileExists(atPath: names[0]) {
            throw Failure(.configuration, "\(names[0]) is a file: write @\(names[0]) for the stores in it")
        }
        return names
    }

    /// Reads a file of ids, one per line. A line in quotes is a JSON string.
    private static func read(_ path: String) throws(Failure) -> [String] {
        func fault(_ problem: String, hint: String? = nil) -> Failure {
            Failure(.configuration, "the list of stores \(path) \(problem)", hint: hint)
        }
        guard let text = String(validating: try Failure.bytes(of: path, "the list of stores"), as: UTF8.self) else {
            throw fault("is not UTF-8")
        }
        var names: [String] = []
        var places: [Name: Int] = [:]
        // Some editors begin a file with a byte order mark.
        let lines = text.trimmingPrefix("\u{FEFF}").split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() {
            let line = line.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let isQuoted = line.hasPrefix("\"")
            let name = isQuoted ? try? JSONDecoder().decode(String.self, from: Data(line.utf8)) : line
            guard let name, StoreID.isValid(name) else { throw fault("has no store's id in line \(index + 1)") }
            guard isQuoted || StoreID.visible(name) == name else {
                throw fault(
                    "has characters in line \(index + 1) that cannot be seen, or two for one",
                    hint: "if the store is called so, write \(StoreID.visible(name))")
            }
            if let first = places.updateValue(index + 1, forKey: Name(name)) {
                throw fault("names \(StoreID.visible(name)) twice, in lines \(first) and \(index + 1)")
            }
            names.append(name)
        }
        guard !names.isEmpty else { throw fault("names no store") }
        return names
    }
}

extension OptionValue<StoreList> {
    static var stores: Self {
        Self(
            "names|@file",
            "stores' ids with commas in between, each once and without anything that cannot be seen, or @ and a file of them"
        ) { StoreList($0) }
    }
}

extension StoreID {
    fileprivate static func isValid(_ id: String) -> Bool { (1...maximumLength).contains(id.utf8.count) }
}
