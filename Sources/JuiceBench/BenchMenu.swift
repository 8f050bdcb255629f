import CoreBench
import Foundation
import JuiceClient
import JuiceMaker
import JuiceMessages

/// The standard menu with another initial stock.
enum BenchMenu {
    static func standard(initialStock: Int) throws(Failure) -> Menu {
        do throws(MenuError) {
            return try Menu.standard { _ in initialStock }
        } catch {
            throw Failure(.usage, "an initial stock of \(initialStock) is not allowed")
        }
    }

    /// Writes a menu file for `juice serve --menu`.
    ///
    /// - Returns: the path.
    static func write(initialStock: Int, to path: String) throws(Failure) -> String {
        var file = OutputBuffer()
        MenuFile.encode(try standard(initialStock: initialStock), into: &file)
        guard FileManager.default.createFile(atPath: path, contents: Data(file.bytes)) else {
            throw Failure(.software, "the menu \(path) cannot be written")
        }
        return path
    }
}
