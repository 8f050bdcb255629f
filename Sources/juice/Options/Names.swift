import Foundation
import JuiceDomain
import JuiceMessages

extension Menu {
    /// The id of the juice with this id, name or alias: in any language and case, with or without spaces.
    ///
    /// - Throws: ``Failure`` of status ``Failure/Status/usage`` if no juice or several match.
    func juiceID(for text: String) throws(Failure) -> String {
        let names = juices.map { (id: $0.id, names: [$0.id] + $0.name.all + $0.aliases) }
        return try find(text, "juice", juices(called: text).map(\.id), among: names)
    }

    /// The id of the fruit with this id or name: in any language and case, with or without spaces.
    func fruitID(for text: String) throws(Failure) -> String {
        let names = fruits.map { (id: $0.id, names: [$0.id] + $0.name.all) }
        return try find(text, "fruit", fruits(called: text).map(\.id), among: names)
    }

    /// Returns the only match, or throws a failure that suggests names. It suggests them as the menu has them, so that a mistyped
    /// Korean name gets a Korean suggestion.
    private func find(
        _ text: String, _ kind: String, _ found: [String], among entries: [(id: String, names: [String])]
    ) throws(Failure) -> String {
        if found.count == 1 { return found[0] }
        guard found.isEmpty else {
            throw Failure(
                .usage, "more than one \(kind) is called \"\(text)\"\(NearestNames.question(found))", hint: "give the \(kind)'s id"
            )
        }
        var suggested: Set<String> = []
        let nearest = NearestNames.of(text, among: entries.flatMap(\.names)).filter { name in
            suggested.insert(entries.first { $0.names.contains(name) }?.id ?? name).inserted
        }
        throw Failure(
            .usage, "no \(kind) is called \"\(text)\"\(NearestNames.question(nearest))",
            hint: nearest.isEmpty ? "`juice menu` lists them; if the service has another menu, --menu names it" : nil)
    }
}

enum NearestNames {
    /// The most similar names, best first, at most three; empty if none is similar.
    ///
    /// The comparison ignores case and decomposes letters, so that 주 and 쥬 differ by one vowel.
    static func of(_ text: String, among names: [String]) -> [String] {
        let typed = parts(of: text)
        let limit = max(2, typed.count / 2)
        let near = names.enumerated().compactMap { position, name -> (distance: Int, position: Int)? in
            let candidate = parts(of: name)
            // A replaced or moved letter counts as two: one removal and one insertion.
            let distance = typed.difference(from: candidate).count
            if distance <= limit { return (distance, position) }
            return typed.count >= 3 && candidate.starts(with: typed) ? (limit, position) : nil
        }
        let sorted = near.sorted { $0 < $1 }
        // If only the case was wrong, the name is certain.
        let meant = sorted.prefix { $0.distance == 0 }
        return (meant.isEmpty ? sorted[...] : meant).prefix(3).map { names[$0.position] }
    }

    /// `; did you mean a, b or c?`, or an empty text.
    static func question(_ names: [String]) -> String {
        guard let last = names.last else { return "" }
        let others = names.dropLast().joined(separator: ", ")
        return "; did you mean \(others.isEmpty ? last : "\(others) or \(last)")?"
    }

    private static func parts(of text: String) -> [Unicode.Scalar] {
        Array(text.lowercased().decomposedStringWithCanonicalMapping.unicodeScalars)
    }
}
