import JuiceClient
import JuiceMaker

/// Finds juices and fruits by id or name.
struct MenuNames {
    let menu: Menu

    /// The id of the juice with this id or name, in any language.
    func juice(_ text: String) throws(Failure) -> String {
        try find(text, "juice", in: menu.juices.map { Entry(id: $0.id, name: $0.name) })
    }

    /// The id of the fruit with this id or name, in any language.
    func fruit(_ text: String) throws(Failure) -> String {
        try find(text, "fruit", in: menu.fruits.map { Entry(id: $0.id, name: $0.name) })
    }

    private struct Entry {
        let id: String
        let name: LocalizedName

        var names: [String] { [id, name.english, name.korean] }
    }

    private func find(_ text: String, _ kind: String, in entries: [Entry]) throws(Failure) -> String {
        // An id has precedence over another entry's name.
        if let entry = entries.first(where: { $0.id == text }) { return entry.id }
        if let entry = entries.first(where: { $0.names.contains(text) }) { return entry.id }
        var suggestions: [String] = []
        for name in NearestNames.of(text, among: entries.flatMap(\.names)) {
            guard let entry = entries.first(where: { $0.names.contains(name) }) else { continue }
            if !suggestions.contains(entry.id) { suggestions.append(entry.id) }
        }
        throw Failure(
            .usage,
            "no \(kind) is called \"\(text.printable)\"\(NearestNames.question(suggestions))",
            hint: suggestions.isEmpty ? "`juice menu` lists them" : nil
        )
    }
}
