import Foundation
import JuiceMaker
import JuiceMessages

/// The standard menu with another initial stock.
enum BenchMenu {
    /// What makes `juice serve` begin with so much of each fruit.
    static func arguments(initialStock: Int, _ site: BenchSite) throws(Failure) -> [String] {
        if initialStock == Menu.standard.fruits.first?.initialStock { return [] }
        return ["--menu", try write(initialStock: initialStock, to: site.makePath("json"))]
    }

    /// Writes the menu's file, for `juice serve --menu`.
    ///
    /// - Returns: the path.
    static func write(initialStock: Int, to path: String) throws(Failure) -> String {
        let standard = Menu.standard
        let fruits = standard.fruits.map { Fruit(id: $0.id, name: $0.name, initialStock: initialStock) }
        let juices = standard.juices.map { juice in
            JuiceSpec(
                id: juice.id,
                name: juice.name,
                recipe: .init(juice.recipe.map { (standard.fruits[$0.fruit].id, $0.amount) })
            )
        }
        var file = OutputBuffer()
        if let menu = try? Menu(fruits: fruits, juices: juices) { MenuFile.encode(menu, into: &file) }
        guard file.count > 0, FileManager.default.createFile(atPath: path, contents: Data(file.bytes)) else {
            throw Failure(.software, "the menu \(path) cannot be written")
        }
        return path
    }
}
