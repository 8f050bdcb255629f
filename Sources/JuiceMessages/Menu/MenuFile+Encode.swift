import JuiceMaker

extension MenuFile {
    /// Appends a menu as a file that ``decode(_:)`` reads, with a line for each fruit and juice.
    public static func encode(_ menu: Menu, into buffer: inout OutputBuffer) {
        buffer.append("{\n  \"fruits\": [\n")
        appendLines(menu.fruits, into: &buffer, append)
        buffer.append("  ],\n  \"juices\": [\n")
        appendLines(menu.juices, into: &buffer) { juice, buffer in append(juice, of: menu, into: &buffer) }
        buffer.append("  ]\n}\n")
    }

    private static func appendLines<Item>(
        _ items: [Item], into buffer: inout OutputBuffer, _ append: (Item, inout OutputBuffer) -> Void
    ) {
        for (position, item) in items.enumerated() {
            buffer.append("    ")
            append(item, &buffer)
            buffer.append(position < items.count - 1 ? ",\n" : "\n")
        }
    }

    private static func append(_ fruit: Fruit, into buffer: inout OutputBuffer) {
        append(id: fruit.id, name: fruit.name, into: &buffer)
        buffer.append(#", "initialStock": "#)
        buffer.append(decimal: fruit.initialStock)
        buffer.append(" }")
    }

    private static func append(_ juice: Juice, of menu: Menu, into buffer: inout OutputBuffer) {
        append(id: juice.id, name: juice.name, into: &buffer)
        if !juice.aliases.isEmpty { append(aliases: juice.aliases, into: &buffer) }
        buffer.append(#", "recipe": { "#)
        for (position, ingredient) in juice.recipe.enumerated() {
            if position > 0 { buffer.append(", ") }
            buffer.append(quoted: menu.fruits[ingredient.fruit].id)
            buffer.append(": ")
            buffer.append(decimal: ingredient.amount)
        }
        buffer.append(" } }")
    }

    private static func append(aliases: [String], into buffer: inout OutputBuffer) {
        buffer.append(#", "aliases": ["#)
        for (position, alias) in aliases.enumerated() {
            if position > 0 { buffer.append(", ") }
            buffer.append(quoted: alias)
        }
        buffer.append("]")
    }

    private static func append(id: String, name: LocalizedName, into buffer: inout OutputBuffer) {
        buffer.append(#"{ "id": "#)
        buffer.append(quoted: id)
        buffer.append(#", "name": { "en": "#)
        buffer.append(quoted: name.english)
        buffer.append(#", "ko": "#)
        buffer.append(quoted: name.korean)
        buffer.append(" }")
    }
}
