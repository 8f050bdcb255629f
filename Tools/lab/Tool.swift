import CLab
import Foundation
import Kafka
import Logging

/// Why a tool cannot do its work.
package struct ToolError: Error {
    package let message: String
    package let status: Int32

    package init(_ message: String, status: Int32 = 70) { (self.message, self.status) = (message, status) }
}

/// The user interrupted the tool.
package struct Interrupted: Error {}

/// Writes a line to standard error.
package func note(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }

/// Rows of cells as lines: the first column flush left, the others flush right.
package func table(_ rows: [[String]]) -> [String] {
    let columns = rows.map(\.count).max() ?? 0
    let widths = (0..<columns).map { column in rows.map { column < $0.count ? $0[column].count : 0 }.max() ?? 0 }
    return rows.map { row in
        zip(row, widths).enumerated().map { column, cell in
            let space = String(repeating: " ", count: cell.1 - cell.0.count)
            return column == 0 ? cell.0 + space : space + cell.0
        }
        .joined(separator: "  ")
    }
}

/// The path of another product of this package, in the folder of this one.
package func product(_ name: String) -> String {
    (Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent(name).path) ?? name
}

extension ClientHooks {
    /// Discards librdkafka's log: the results of calls suffice.
    package static let silent = ClientHooks(logger: Logger(label: "tool") { _ in SwiftLogNoOpLogHandler() })
}

/// Throws ``Interrupted`` after SIGINT or SIGTERM, if they are caught.
package func checkInterruption() throws { if process_is_interrupted() { throw Interrupted() } }

/// Waits until a condition holds, and returns whether it did in time. Throws ``Interrupted``.
@discardableResult
package func wait(for timeout: Duration, every pause: Duration = .milliseconds(5), until holds: () throws -> Bool) throws -> Bool {
    let deadline = ContinuousClock.now + timeout
    while true {
        try checkInterruption()
        if try holds() { return true }
        if ContinuousClock.now > deadline { return false }
        usleep(UInt32(pause / .microseconds(1)))
    }
}
