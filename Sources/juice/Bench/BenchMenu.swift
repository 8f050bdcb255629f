import Foundation
import JuiceBench
import JuiceMaker
import JuiceMessages

/// The standard menu with another initial stock.
enum BenchMenu {
    /// Writes the menu's file, for `juice serve --menu`.
    ///
    /// - Returns: the path.
    static func write(initialStock: Int, to path: String) throws(Failure) -> String {
        var file = OutputBuffer()
        if let menu = try? Menu.standard(initialStock: { _ in initialStock }) {
            MenuFile.encode(menu, into: &file)
        }
        guard file.count > 0, FileManager.default.createFile(atPath: path, contents: Data(file.bytes)) else {
            throw Failure(.software, "the menu \(path) cannot be written")
        }
        return path
    }
}
