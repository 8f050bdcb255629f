import JuiceClient
import JuiceMaker

/// Finds juices and fruits by what people call them.
struct MenuNames {
    let menu: Menu

    /// The id of the juice with this id, name or alias: in any language and case, with or without spaces.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/usage`` if the text means no juice or several.
    func juice(_ text: String) throws(Failure) -> String {
        try find(
            text, "juice", menu.juices(called: text).map(\.id),
            in: menu.juices.map { Entry(id: $0.id, names: [$0.id] + $0.name.all + $0.aliases) })
    }

    /// The id of the fruit with this id or name: in any language and case, with or without spaces.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/usage`` if the text means no fruit or several.
    func fruit(_ text: String) throws(Failure) -> String {
        try find(
            text, "fruit", menu.fruits(called: text).map(\.id),
            in: menu.fruits.map { Entry(id: $0.id, names: [$0.id] + $0.name.all) })
    }

    private struct Entry {
        let id: String
        let names: [String]
    }

    /// The only id of those found, or a failure that names the ids to choose from.
    private func find(_ text: String, _ kind: String, _ found: [String], in entries: [Entry]) throws(Failure) -> String {
        if found.count == 1 { return found[0] }
        guard found.isEmpty else {
            throw Failure(
                .usage, "more than one \(kind) is called \"\(text.printable)\"\(NearestNames.question(found))",
                hint: "give the \(kind)'s id")
        }
        var suggestions: [String] = []
        for name in NearestNames.of(text, among: entries.flatMap(\.names)) {
            guard let entry = entries.first(where: { $0.names.contains(name) }) else { continue }
            if !suggestions.contains(entry.id) { suggestions.append(entry.id) }
        }
        throw Failure(
            .usage, "no \(kind) is called \"\(text.printable)\"\(NearestNames.question(suggestions))",
            hint: suggestions.isEmpty ? "`juice menu` lists them" : nil)
    }
}
