import JuiceDomain

/// A menu as a JSON file.
///
/// ```json
/// {
///   "fruits": [{ "id": "kiwi", "name": { "en": "kiwi", "ko": "키위" }, "initialStock": 10 }],
///   "juices": [
///     { "id": "kiwi", "name": { "en": "kiwi juice", "ko": "키위쥬스" }, "aliases": ["다래쥬스"], "recipe": { "kiwi": 3 } }
///   ]
/// }
/// ```
///
/// These may be left out: `name` (default: the id), its `en` (the id) and `ko` (the English name), `aliases` (none) and
/// `initialStock` (10). Unlike in records, an unknown field is an error: it is most likely a typing mistake by the person who reads
/// the message.
package enum MenuFile {
    /// The menu in a file. Throws the first fault of the file or, if it has none, of the menu.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(MalformedMessage) -> Menu {
        let reader = JSONReader(capacity: bytes.count)
        let file = try reader.readObject(bytes)
        try file.check(fields: ["fruits", "juices"], at: "")
        let fruits = try file.objects("fruits", fruit)
        let juices = try file.objects("juices", juice)
        do throws(MenuError) { return try Menu(fruits: fruits, juices: juices) } catch {
            throw MalformedMessage(error.path, error.problem)
        }
    }

    private static func fruit(_ object: JSONObject, at path: String) throws(MalformedMessage) -> Fruit {
        try object.check(fields: ["id", "name", "initialStock"], at: path)
        let id = try object.text("id", in: "\(path).")
        var initialStock = Fruit.defaultInitialStock
        if object.has("initialStock") { initialStock = try object.integer("initialStock", in: "\(path).") }
        return Fruit(id: id, name: try name(of: object, id: id, at: path), initialStock: initialStock)
    }

    private static func juice(_ object: JSONObject, at path: String) throws(MalformedMessage) -> JuiceSpec {
        try object.check(fields: ["id", "name", "aliases", "recipe"], at: path)
        let id = try object.text("id", in: "\(path).")
        var recipe: [(fruit: String, amount: Int)] = []
        for (fruit, value) in try object.object("recipe", in: "\(path).") {
            guard let amount = value.integer else {
                throw MalformedMessage("\(path).recipe.\(fruit.clipped())", "must be a whole number")
            }
            recipe.append((String(fruit), amount))
        }
        return JuiceSpec(
            id: id, name: try name(of: object, id: id, at: path),
            aliases: object.has("aliases") ? try object.texts("aliases", in: "\(path).") : [],
            recipe: recipe)
    }

    private static func name(of object: JSONObject, id: String, at path: String) throws(MalformedMessage) -> LocalizedName {
        guard object.has("name") else { return LocalizedName(english: id, korean: id) }
        let name = try object.object("name", in: "\(path).")
        try name.check(fields: ["en", "ko"], at: "\(path).name")
        let english = name.has("en") ? try name.text("en", in: "\(path).name.") : id
        let korean = name.has("ko") ? try name.text("ko", in: "\(path).name.") : english
        return LocalizedName(english: english, korean: korean)
    }
}

extension JSONObject {
    fileprivate func has(_ name: StaticString) -> Bool { !member(name).isAbsent }

    /// Makes sure that every member is one of the known fields.
    fileprivate func check(fields: [String], at path: String) throws(MalformedMessage) {
        for (key, _) in self where !fields.contains(String(key)) {
            let field = path.isEmpty ? key.clipped() : "\(path).\(key.clipped())"
            throw MalformedMessage(field, "unknown field; the fields here are \(fields.joined(separator: ", "))")
        }
    }
}

extension MenuFile {
    /// Appends a menu as a file that ``decode(_:)`` reads, with a line for each fruit and juice.
    package static func encode(_ menu: Menu, into buffer: inout OutputBuffer) {
        let fruits: [JSONText] = menu.fruits.map { fruit in
            #"    { \#(members(fruit.id, fruit.name), separator: ", "), "initialStock": \#(fruit.initialStock) }"#
        }
        let juices: [JSONText] = menu.juices.map { juice in
            var members = members(juice.id, juice.name)
            let aliases: [JSONText] = juice.aliases.map { "\($0)" }
            if !aliases.isEmpty { members.append(#""aliases": [\#(aliases, separator: ", ")]"#) }
            let recipe: [JSONText] = juice.recipe.map { "\(menu.fruits[$0.fruit].id): \($0.amount)" }
            members.append(#""recipe": { \#(recipe, separator: ", ") }"#)
            return "    { \(members, separator: ", ") }"
        }
        buffer.append(
            json: """
                {
                  "fruits": [
                \(fruits, separator: ",\n")
                  ],
                  "juices": [
                \(juices, separator: ",\n")
                  ]
                }

                """)
    }

    private static func members(_ id: String, _ name: LocalizedName) -> [JSONText] {
        [#""id": \#(id)"#, #""name": { "en": \#(name.english), "ko": \#(name.korean) }"#]
    }
}
