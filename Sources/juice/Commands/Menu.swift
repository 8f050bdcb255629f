import ArgumentParser
import JuiceDomain
import JuiceMessages

/// `juice menu`: shows the fruits and juices.
struct MenuCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "menu", abstract: "Show the fruits and juices.",
        discussion: """
            With --json it prints a menu file, from which you can start a menu of your own.

            Examples:
              juice menu
              juice menu --json > menu.json
              juice menu --menu menu.json
            """
    )

    @Flag(inversion: .prefixedNo, help: "Print the menu file.") var json: Bool?
    @OptionGroup var menu: MenuOptions
    @OptionGroup var general: GeneralOptions

    func run() throws {
        let settings = try Settings(self)
        let menu = try settings.menu()
        if try settings[.json] {
            var buffer = OutputBuffer()
            MenuFile.encode(menu, into: &buffer)
            StandardOutput.write(buffer.bytes)
        } else {
            let tables = [Self.fruits(of: menu), Self.juices(of: menu)].map { table in
                table.lines(paint: .forStandardOutput()).joined(separator: "\n")
            }
            StandardOutput.line(tables.joined(separator: "\n\n"))
        }
    }

    static func fruits(of menu: Menu) -> Table {
        var table = Table([
            .init(title: "fruit"), .init(title: "name"), .init(title: "이름"), .init(title: "initial stock", alignment: .right),
        ])
        for fruit in menu.fruits {
            table.add([
                .init(fruit.id, .bold), .init(fruit.name.english), .init(fruit.name.korean), .init(String(fruit.initialStock)),
            ])
        }
        return table
    }

    static func juices(of menu: Menu) -> Table {
        var table = Table([
            .init(title: "juice"), .init(title: "name"), .init(title: "이름"), .init(title: "recipe"), .init(title: "aliases"),
        ])
        for juice in menu.juices {
            let recipe = juice.recipe.map { "\($0.amount) \(menu.fruits[$0.fruit].id)" }.joined(separator: " + ")
            table.add([
                .init(juice.id, .bold), .init(juice.name.english), .init(juice.name.korean), .init(recipe),
                .init(juice.aliases.joined(separator: ", ")),
            ])
        }
        return table
    }
}
