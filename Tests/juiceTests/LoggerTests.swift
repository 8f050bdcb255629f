import Foundation
import Logging
import Synchronization
import Testing

@testable import juice

/// Log lines, for people and for programs.
@Suite struct LoggerTests {
    private func lines(_ format: LogFormat, _ body: (Logger) -> Void) -> [String] {
        let lines = Mutex<[String]>([])
        let sink = { @Sendable (line: String) in lines.withLock { $0.append(line) } }
        body(Logger.lines(level: .info, format: format, sink: sink))
        return lines.withLock { $0 }
    }

    @Test func peopleGetTheTimeOfDayAndPairs() throws {
        let line = try #require(
            lines(.text) { logger in
                var logger = logger
                logger[metadataKey: "worker"] = "0"
                logger.debug("not this one")
                logger.warning("partition stopped\nhere", metadata: ["partition": "3"])
            }.first)
        let parts = line.split(separator: " ", maxSplits: 1)
        #expect(parts.first?.wholeMatch(of: /\d\d:\d\d:\d\d/) != nil)
        #expect(parts.last == "warning partition stopped\u{FFFD}here partition=3 worker=0")
    }

    @Test func programsGetAnObject() throws {
        let line = try #require(lines(.json) { $0.error("\"딸기\"\n/", metadata: ["topic": "juice.orders", "level": "mine"]) }.first)
        #expect(line.hasSuffix(#""level":"error","message":"\"딸기\"\n/","topic":"juice.orders"}"#))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        #expect(object["level"] == "error")
        let time = try #require(object["time"])
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    }
}
