import ArgumentParser
import JuiceDomain
import JuiceMessages

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

    @Flag("Print the menu file.") var json = false
    @OptionGroup var menu: MenuOptions
    @OptionGroup var general: GeneralOptions

    func run() throws {
        let menu = try menu.load()
        if json {
            var buffer = OutputBuffer()
            MenuFile.encode(menu, into: &buffer)
            return StandardOutput.write(buffer.bytes)
        }
        let fruits = menu.fruits.map { fruit -> [Table.Cell] in
            [.init(fruit.id, .bold), .init(fruit.name.english), .init(fruit.name.korean), .init("\(fruit.initialStock)")]
        }
        let juices = menu.juices.map { juice -> [Table.Cell] in
            let recipe = juice.recipe.map { "\($0.amount) \(menu.fruits[$0.fruit].id)" }.joined(separator: " + ")
            let aliases = juice.aliases.joined(separator: ", ")
            return [.init(juice.id, .bold), .init(juice.name.english), .init(juice.name.korean), .init(recipe), .init(aliases)]
        }
        Table(["fruit", "name", "이름", "initial stock"], fruits).print()
        StandardOutput.line("")
        Table(["juice", "name", "이름", "recipe", "aliases"], juices).print()
    }
}
