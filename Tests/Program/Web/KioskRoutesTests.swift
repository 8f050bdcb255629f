import Foundation
import JuiceMessages
import Kafka
import Logging
import Synchronization
import TestSupport
import Testing

@testable import JuiceWeb

/// Tests the routes over TCP, without Kafka.
@Suite(.timeLimit(.minutes(10)))
struct KioskRoutesTests {
    private static let places = 3

    /// A kiosk that allows few pages, takes orders for any store and has a staff token.
    private static var configuration: KioskConfiguration {
        var configuration = KioskConfiguration(feed: KafkaConfiguration(), orders: KafkaConfiguration(), topics: TopicNames())
        configuration.takesAnyStore = true
        configuration.staffSecrets = [StaffSecret(token: "0123456789abcdef")].compactMap(\.self)
        configuration.mostPages = places
        return configuration
    }

    private let clock = TestClock()

    private func withSite(
        logger: Logger = .quiet, language: Language? = nil, _ body: @Sendable @escaping (Site, Hub) throws -> Void
    ) async throws {
        var configuration = Self.configuration
        configuration.language = language
        let kiosk = Kiosk(configuration, logger: logger) { [clock] in clock.seconds }
        try await serving(kiosk.responder) { address in
            try await onThread {
                defer { kiosk.hub.close() }
                try body(Site(address: address), kiosk.hub)
            }
        }
    }

    /// Requests events. Any other response closes the connection, so that it can be read to its end.
    private func events(_ site: Site, _ method: String = "GET") throws -> RawConnection {
        try site.request(method, "/api/events", "Connection: close\r\n")
    }

    /// Opens a page, with retries: the server notices the end of another page with a delay.
    private func page(_ site: Site, _ hub: Hub) throws -> RawConnection {
        while true {
            let connection = try events(site)
            if try connection.read(until: "\n\n").hasPrefix("HTTP/1.1 200 ") { return connection }
            // Writes to a closed page fail.
            tick(hub)
        }
    }

    /// A second passes, and the pages are updated.
    private func tick(_ hub: Hub) {
        clock.advance(.seconds(1))
        hub.apply([])
    }

    @Test func askingForTheHeadTakesNoPlace() async throws {
        try await withSite { site, hub in
            for _ in 0..<3 * Self.places {
                let head = try events(site, "HEAD").read(until: "\r\n\r\n")
                #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("\r\nX-Accel-Buffering: no\r\n"))
                // No proxy is to compress events, and hold them back for that.
                #expect(head.contains("no-transform\r\n") && head.contains("\r\nContent-Encoding: identity\r\n"), "\(head)")
            }
            #expect(hub.hasRoom)
            _ = try page(site, hub)
        }
    }

    @Test func aPageThatIsGoneGivesItsPlaceBack() async throws {
        try await withSite { site, hub in
            for isRead in [true, false] {
                for _ in 0..<3 * Self.places {
                    let connection = try events(site)
                    if isRead { _ = try connection.read(until: "\r\n") }
                    connection.resetAtEnd()
                    tick(hub)
                }
            }
            _ = try page(site, hub)
        }
    }

    @Test func onePageTooManyIsRefused() async throws {
        try await withSite { site, hub in
            var pages = try (0..<Self.places).map { _ in try page(site, hub) }
            let answer = try events(site).read()
            #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("tooManyPages"))
            pages.removeLast()
            _ = try page(site, hub)
        }
    }

    @Test(arguments: [
        ("/api/menu", "cross-site", 403), ("/api/menu", "same-site", 403), ("//api//menu", "cross-site", 403),
        ("/%61pi/menu", "cross-site", 403), ("/api/events", "cross-site", 403), ("/api/nowhere", "cross-site", 404),
        ("/api/menu", "same-origin", 200), ("/api/menu", "none", 200), ("/", "cross-site", 200), ("/kiosk.js", "same-site", 200),
    ])
    func foreignPagesReadNothing(_ path: String, _ origin: String, _ status: Int) async throws {
        try await withSite { site, _ in
            for method in ["GET", "HEAD"] {
                let answer = try site.request(method, path, "Sec-Fetch-Site: \(origin)\r\n").read(until: "\r\n\r\n")
                // A path with another spelling may be unknown, but must not bypass the check.
                let isRefused = status == 403 && answer.hasPrefix("HTTP/1.1 404 ")
                #expect(answer.hasPrefix("HTTP/1.1 \(status) ") || isRefused, "\(answer)")
            }
        }
    }

    @Test func strangersAreRefused() async throws {
        let order = #"{"orderId":"kiosk-o","juice":"kiwi"}"#
        let refused: [([String: String?], Int)] = [
            (["Origin": "http://evil.example"], 403), (["Origin": nil], 403), (["Origin": "null"], 403),
            (["Sec-Fetch-Site": "cross-site"], 403),
        ]
        let recorder = LogRecorder()
        try await withSite(logger: recorder.makeLogger()) { site, _ in
            for (headers, status) in refused { try site.expect(status, "/api/orders", order, headers) }
            try site.expect(413, "/api/orders", order.replacing("kiwi", with: String(repeating: "x", count: 9000)))
            try site.expect(400, "/api/orders", "{}")
            try site.expect(404, "/nowhere", "{}")
            for store in ["", "%FF", "a%C3"] { try site.expect(400, "/api/orders?store=\(store)", order) }
            try site.expect(404, "/api/orders/o-1", order)
        }
        // Which foreign requests are logged depends on timing; the other refusals never are.
        let logged = recorder.all.filter { $0.hasPrefix("warning a request was refused: only the kiosk's own page may send this") }
        #expect(logged.contains { $0.contains(" host=127.0.0.1:") && $0.hasSuffix(" origin=http://evil.example") }, "\(logged)")
        #expect(logged.count == recorder.all.count { $0.hasPrefix("warning") })
    }

    @Test func wrongTokensAreLoggedAndHaveToWait() async throws {
        let recorder = LogRecorder()
        try await withSite(logger: recorder.makeLogger()) { site, _ in
            let wrong = ["Juice-Secret": "wrong-wrong-wrong"]
            for _ in 0...StaffAuthenticator.freeTries { try site.expect(401, "/api/staff/sign-in", "{}", wrong) }
            // Each failure makes the wait longer: at first it may be over before the next try.
            var answer = ""
            for _ in 0..<8 where !answer.hasPrefix("HTTP/1.1 429 ") { answer = try site.post("/api/staff/sign-in", "{}", wrong) }
            #expect(answer.hasPrefix("HTTP/1.1 429 ") && answer.contains("tooManyTries") && answer.contains("Retry-After: "))
        }
        #expect(recorder.all.contains("warning a staff sign-in was refused address=127.0.0.1"))
        #expect(!recorder.all.contains { $0.contains("wrong-wrong") })
    }

    @Test func aBrowserIsSignedInByACookie() async throws {
        try await withSite { site, _ in
            let token = ["Juice-Secret": "0123456789abcdef"]
            let first = try site.signIn(token)
            let attributes = first.components(separatedBy: "; ")
            let digits = "\(site.address)".filter(\.isNumber)
            #expect(attributes.first?.hasPrefix("juice-staff-\(digits)=") == true)
            #expect(Set(attributes.dropFirst()) == ["Path=/api", "HttpOnly", "SameSite=Strict"])
            let overTLS = try site.signIn(token.merging(["Origin": "https://\(site.address)"]) { $1 })
            #expect(overTLS.components(separatedBy: "; ").contains("Secure"))
            // The body is refused as no restock, so its sender was let in.
            try site.expect(400, "/api/restocks", "{}", ["Cookie": "other=1; " + first])
            try site.expect(403, "/api/restocks", "{}", ["Cookie": first, "Origin": "http://foreign.test"])
            for header in [token, ["Cookie": "juice-staff-\(digits)=0"], [:]] {
                try site.expect(401, "/api/restocks", "{}", header, holding: "signedOut")
            }
            // Another session takes the secret again, and ends the first.
            try site.expect(401, "/api/staff/sign-in", "{}", ["Cookie": first], holding: "wrongToken")
            // A proxy may want `Authorization` for itself.
            let authorization = ["Authorization": "Bearer 0123456789abcdef"]
            try site.expect(401, "/api/staff/sign-in", "{}", authorization, holding: "wrongToken")
            let second = try site.signIn(token.merging(["Cookie": first]) { $1 })
            try site.expect(401, "/api/restocks", "{}", ["Cookie": first])
            try site.expect(400, "/api/restocks", "{}", ["Cookie": second])
            // Only the page signs out.
            try site.expect(403, "/api/staff/sign-out", "{}", ["Cookie": second, "Origin": "http://foreign.test"])
            try site.expect(400, "/api/restocks", "{}", ["Cookie": second])
            try site.expect(204, "/api/staff/sign-out", "{}", ["Cookie": second])
            try site.expect(401, "/api/restocks", "{}", ["Cookie": second], holding: "signedOut")
        }
    }

    @Test(arguments: PageFile.all.map(\.path))
    func everyFileComesWithThePolicy(path: String) async throws {
        let file = try #require(PageFile.all.first { $0.path == path })
        #expect(file.bytes.readableBytes > 100)
        try await withSite { site, _ in
            let head = try site.request("GET", path).read(until: "\r\n\r\n")
            #expect(head.contains("\r\nContent-Security-Policy: \(SecurityMiddleware.contentSecurityPolicy)\r\n"), "\(head)")
            #expect(head.contains("\r\nContent-Type: \(file.type)\r\n") && head.contains("\r\nJuice-Kiosk: 1\r\n"))
            #expect(head.contains("\r\nContent-Length: \(file.bytes.readableBytes)\r\n"))
        }
    }

    @Test func aFileIsSentAgainOnlyIfItHasChanged() async throws {
        let (file, other) = (try #require(PageFile.all.first), try #require(PageFile.all.last))
        try await withSite { site, _ in
            // As it is, as one of several, and as compressing proxies change it.
            for tag in ["\"\(file.tag)\"", "\"a\", W/\"\(file.tag)\"", "\"\(file.tag)-gzip\""] {
                let answer = try site.request("GET", file.path, "If-None-Match: \(tag)\r\nConnection: close\r\n").read()
                #expect(answer.hasPrefix("HTTP/1.1 304 ") && answer.contains("\r\nETag: \"\(file.tag)\"\r\n"), "\(answer)")
                #expect(answer.contains("\r\nCache-Control: no-cache\r\n") && answer.hasSuffix("\r\n\r\n"), "\(answer)")
            }
            for tag in ["\"\(other.tag)\"", ""] {
                let answer = try site.request("GET", file.path, "If-None-Match: \(tag)\r\n").read(until: "\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\r\nETag: \"\(file.tag)\"\r\n"), "\(answer)")
            }
        }
    }

    @Test func aRestartChangesTheVersionOnlyIfThePageWouldDiffer() async throws {
        let versions = Mutex<[Substring?]>([])
        for language in [nil, nil, Language.korean] {
            try await withSite(language: language) { site, _ in
                let settings = try site.request("GET", "/api/settings", "Connection: close\r\n").read()
                versions.withLock { $0.append(settings.split(separator: #""version":"#).last) }
            }
        }
        let found = versions.withLock(\.self)
        #expect(found[0] == found[1] && found[1] != found[2])
    }
}
