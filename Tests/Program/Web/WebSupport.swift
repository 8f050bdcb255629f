import JuiceDomain
import Synchronization
import TestSupport
import Testing

@testable import JuiceMessages
@testable import JuiceWeb

/// A clock that tests set.
final class TestClock: Sendable {
    private let start = ContinuousClock.now
    private let elapsed = Mutex(Duration.zero)

    var now: ContinuousClock.Instant { start + elapsed.withLock { $0 } }
    /// Seconds since 1970, which start at 1,000.
    var seconds: Double { 1000 + elapsed.withLock { $0 } / .seconds(1) }

    func advance(_ duration: Duration) { elapsed.withLock { $0 += duration } }
}

/// Sample answers and stock records.
enum Sample {
    static func answer(
        _ id: String, _ sample: AnswerSample = .made, store: String = "gangnam", isDuplicate: Bool = false, time: Int64 = 100_000
    ) throws -> ReadAnswer {
        let record = try sample.record(id: id, store: store, isRepeat: isDuplicate)
        return ReadAnswer(answer: try Answer(json: record), time: time, record: Array(record.utf8))
    }

    static func stock(_ store: String, kiwi: Int) -> KioskState.Event {
        .stock(StockRecord(store: store, revision: 1, stock: [FruitAmount(fruit: "kiwi", amount: kiwi)]), store: store)
    }
}

/// A kiosk as a browser sees it.
struct Site: Sendable {
    let address: HTTPAddress

    func request(_ method: String = "GET", _ path: String, _ headers: String = "", body: String = "") throws -> RawConnection {
        let connection = try RawConnection(address)
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        connection.send("\(method) \(path) HTTP/1.1\r\nHost: \(address)\r\n\(length)\(headers)\r\n\(body)")
        return connection
    }

    /// The response to a request like those of the kiosk's own page, with some headers replaced.
    func post(_ path: String, _ body: String, _ headers: [String: String?] = [:]) throws -> String {
        let own: [String: String?] = [
            "Content-Type": "application/json", "Origin": "http://\(address)", "Connection": "close",
        ]
        let lines = own.merging(headers) { $1 }.compactMap { name, value in value.map { "\(name): \($0)\r\n" } }
        return try request("POST", path, lines.joined(), body: body).read()
    }

    func expect(
        _ status: Int, _ path: String, _ body: String, _ headers: [String: String?] = [:], holding text: String = "HTTP",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let answer = try post(path, body, headers)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains(text), "\(answer)", sourceLocation: sourceLocation)
    }

    /// Signs staff in, and returns the cookie.
    func signIn(_ headers: [String: String]) throws -> String {
        let lines = try post("/api/staff/sign-in", "{}", headers).components(separatedBy: "\r\n")
        let line = try #require(lines.first { $0.hasPrefix("Set-Cookie: ") }, "\(lines)")
        return String(line.dropFirst("Set-Cookie: ".count))
    }

    /// Opens a page.
    func open(_ query: String) throws -> PageStream { PageStream(connection: try request("GET", "/api/events?\(query)")) }
}

/// The events that an open page gets.
final class PageStream {
    private let connection: RawConnection
    private var rest = ""

    init(connection: RawConnection) { self.connection = connection }

    /// Reads events until one has all these texts.
    func expect(_ texts: String...) throws {
        while true {
            while let end = rest.firstRange(of: "\n\n") {
                let event = rest[..<end.lowerBound]
                rest = String(rest[end.upperBound...])
                if texts.allSatisfy({ event.contains($0) }) { return }
            }
            let text = try connection.read(until: "\n\n")
            try #require(!text.isEmpty, "the stream ended before \(texts)")
            rest += text
        }
    }
}
