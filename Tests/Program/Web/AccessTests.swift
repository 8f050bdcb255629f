import Foundation
import JuiceDomain
import JuiceMessages
import Logging
import NIOCore
import TestSupport
import Testing

@testable import JuiceWeb

struct StaffSecretTests {
    @Test(arguments: [
        "", "short", "0123456789abcde", "0123456789abcde f", "0123456789abcdé1", String(repeating: "x", count: 257),
    ])
    func whatIsNoTokenIsRefused(text: String) { #expect(StaffSecret(token: text) == nil) }

    @Test(arguments: ["", "12345", "1234567890123456", "12345a", "１２３４５６"])
    func whatIsNoPINIsRefused(text: String) { #expect(StaffSecret(pin: text) == nil) }

    @Test(arguments: [
        ("Bearer 0123456789abcdef", true), ("bearer 0123456789abcdef", true), ("Bearer 271828", true), ("Bearer 27182", false),
        ("Bearer 0123456789abcdeF", false), ("Bearer 0123456789abcde", false), ("Bearer 0123456789abcdef0", false),
        ("Bearer ", false), ("Bearer 0123456789abcdef0123456789abcdef", false), ("0123456789abcdef", false),
        ("Basic 0123456789abcdef", false), ("Bearer  0123456789abcdef", false), (nil, false),
    ])
    func onlyTheSecretsMatch(header: String?, matches: Bool) throws {
        let secrets = [try #require(StaffSecret(token: "0123456789abcdef")), try #require(StaffSecret(pin: "271828"))]
        let staff = StaffAuthenticator(secrets, logger: .quiet)
        let session = try? staff.signIn(authorization: header, session: nil, from: "", path: "/")
        #expect((session != nil) == matches)
        #expect(secrets.map { "\($0)" } == ["********", "********"])
    }
}

struct StaffAuthenticatorTests {
    private let clock = TestClock()
    private let recorder = LogRecorder()
    private let token = "0123456789abcdef"
    private let pin = "271828"

    private func staff() -> StaffAuthenticator {
        let secrets = [StaffSecret(token: token), StaffSecret(pin: pin)].compactMap(\.self)
        return StaffAuthenticator(secrets, logger: recorder.makeLogger()) { [clock] in clock.now }
    }

    private func session(_ staff: StaffAuthenticator, _ secret: String, replacing session: String? = nil) throws -> String {
        try staff.signIn(authorization: "Bearer \(secret)", session: session, from: "192.0.2.1", path: "/api/staff")
    }

    /// The code of the refusal, or "in".
    private func enter(_ staff: StaffAuthenticator, _ secret: String, session: String? = nil, from peer: String = "") -> String {
        do throws(Refusal) {
            _ = try staff.signIn(authorization: "Bearer \(secret)", session: session, from: peer, path: "/api/staff")
            return "in"
        } catch { return error.code + (error.retryAfter.map { " \($0)" } ?? "") }
    }

    /// Right or wrong, the answer is the same during a wait, so it says nothing about the PIN.
    @Test func whoGoesOnWithWrongSecretsWaitsLongerEachTime() {
        let staff = staff()
        for _ in 0..<StaffAuthenticator.freeTries { #expect(enter(staff, "000000") == "wrongToken") }
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(enter(staff, "wrong") == "wrongToken")
            for guess in [pin, "000000"] { #expect(enter(staff, guess) == "tooManyTries \(wait)") }
            clock.advance(.seconds(wait) - .milliseconds(1))
            #expect(enter(staff, pin) == "tooManyTries 1")
            clock.advance(.milliseconds(1))
        }
        #expect(enter(staff, pin) == "in")
    }

    @Test func guessesLockNobodyOutWhoHasTheTokenOrSignedInBefore() throws {
        let staff = staff()
        let (inUse, signedOut) = (try session(staff, pin), try session(staff, pin))
        staff.signOut(signedOut)
        for _ in 0...StaffAuthenticator.freeTries { _ = enter(staff, "000000") }
        #expect(enter(staff, pin) == "tooManyTries 1")
        #expect(enter(staff, token) == "in")
        #expect((try? staff.admit(inUse)) != nil)
        #expect(enter(staff, pin, session: signedOut) == "in")
        // A cookie that the kiosk did not give is a stranger's.
        #expect(enter(staff, pin, session: "guess") == "tooManyTries 1")
    }

    @Test func aBrowserThatStaffUseCannotBeUsedToGuess() throws {
        let staff = staff()
        let tablet = try session(staff, pin)
        staff.signOut(tablet)
        for _ in 0...StaffAuthenticator.freeTries { #expect(enter(staff, "000000", session: tablet) == "wrongToken") }
        #expect(enter(staff, pin, session: tablet) == "tooManyTries 1")
        #expect(enter(staff, pin) == "in")
    }

    @Test func wrongSecretsOfLongAgoAreForgotten() {
        let staff = staff()
        for _ in 0..<3 {
            for _ in 0..<StaffAuthenticator.freeTries { #expect(enter(staff, "000000") == "wrongToken") }
            clock.advance(StaffAuthenticator.memory + .seconds(1))
        }
        #expect(enter(staff, pin) == "in")
    }

    @Test func aBrowserStaysSignedInWhileItIsUsed() throws {
        let staff = staff()
        func isIn(_ session: String?) -> Bool { (try? staff.admit(session)) != nil }
        let (first, second) = (try session(staff, pin), try session(staff, pin))
        #expect(first != second && isIn(first) && isIn(second))
        #expect(!isIn(nil) && !isIn("") && !isIn("guess"))
        clock.advance(StaffAuthenticator.sessionLength - .seconds(1))
        #expect(isIn(first))
        clock.advance(.seconds(2))
        #expect(isIn(first) && !isIn(second))
        let third = try session(staff, pin, replacing: first)
        #expect(!isIn(first) && isIn(third))
        staff.signOut(third)
        #expect(!isIn(third))
        #expect(recorder.all.isEmpty)
    }

    @Test func refusedSignInsAreToldOnceASecondAndNeverTheirSecrets() {
        let staff = staff()
        // Those that have to wait, too.
        for number in 0..<1000 { _ = enter(staff, "secret-\(number)", from: "192.0.2.\(number % 256)") }
        #expect(recorder.all == ["warning a staff sign-in was refused address=192.0.2.0 path=/api/staff"])
        clock.advance(.seconds(1))
        _ = enter(staff, "wrong", from: "2001:db8::7")
        #expect(recorder.all.last == "warning a staff sign-in was refused, and 999 more after it address=192.0.2.1 path=/api/staff")
        staff.close()
        #expect(recorder.all.count == 2)
    }

    @Test func withoutATokenNobodyIsLetIn() {
        let staff = StaffAuthenticator([], logger: recorder.makeLogger())
        #expect(enter(staff, "") == "editingIsOff")
        #expect(throws: Refusal.self) { try staff.admit(nil) }
        #expect(recorder.all.isEmpty)
    }
}

struct OrderRateLimiterTests {
    private let clock = TestClock()
    private let recorder = LogRecorder()

    private func limiter(perSecond: Int = 5) -> OrderRateLimiter {
        OrderRateLimiter(perSecond: perSecond, logger: recorder.makeLogger()) { [clock] in clock.now }
    }

    /// How long the order has to wait, in seconds; nil if it passes.
    private func retryAfter(_ limiter: OrderRateLimiter) -> Int? {
        do throws(Refusal) {
            try limiter.admit(from: "192.0.2.1", path: "/api/orders")
            return nil
        } catch { return error.retryAfter }
    }

    /// How many of these orders pass.
    private func passing(_ limiter: OrderRateLimiter, of count: Int) -> Int {
        (0..<count).filter { _ in retryAfter(limiter) == nil }.count
    }

    @Test func thereIsTenSecondsWorthAtOnceAndThenTheRate() {
        let limiter = limiter()
        #expect(passing(limiter, of: 1000) == 50)
        #expect(retryAfter(limiter) == 1)
        clock.advance(.seconds(2))
        #expect(passing(limiter, of: 1000) == 10)
        clock.advance(.seconds(3600))
        #expect(passing(limiter, of: 1000) == 50)
    }

    @Test func refusalsAreLoggedOnceASecond() {
        let limiter = limiter()
        _ = passing(limiter, of: 1050)
        #expect(recorder.all == ["warning too many orders a second: one was refused address=192.0.2.1 path=/api/orders"])
        for _ in 0..<2 { limiter.close() }
        #expect(recorder.all.count == 2)
        #expect(recorder.all.last?.contains("one was refused, and 998 more after it") == true)
    }
}

struct RecentTableTests {
    @Test func keepsWhatWasSetLast() {
        var table = RecentTable<Int, Int>(capacity: 10)
        for key in 0..<1000 {
            table[-1] = key
            table[key] = key
            #expect(table.keys.count < 20)
        }
        #expect((992..<1000).allSatisfy { table[$0] == $0 })
        #expect(table[980] == nil)
        #expect(table[-1] == 999)
        #expect(Set(table.keys).count == table.keys.count)
        for key in table.keys { table[key] = nil }
        #expect(table.keys.isEmpty)
    }
}

struct SecurityMiddlewareTests {
    @Test(arguments: [
        ("127.0.0.1:8081", true), ("localhost:8081", true), ("LOCALHOST", true), ("[::1]:8081", true),
        ("192.168.0.7", true), ("kiosk.example", true), ("KIOSK.example:443", true), ("evil.example", false),
        ("127.0.0.1.evil.example", false), ("127.0.0.256", false), ("", false), (":8081", false), (nil, false),
    ])
    func knowsItsHosts(host: String?, isOwn: Bool) {
        #expect(SecurityMiddleware(hostNames: ["Kiosk.example"], metrics: KioskMetrics()).isOwn(host: host) == isOwn)
    }

    @Test(
        arguments: [
            ("a:1", "http://a:1", nil, true), ("a:1", "https://A:1", "same-origin", true), ("a:1", "http://a:2", nil, false),
            ("a:1", "http://a:1", "same-site", false), ("a:1", "http://a:1", "cross-site", false),
            ("a:1", "http://a:1", "none", false), ("a:1", nil, nil, false), ("a:1", nil, "same-origin", false),
            ("a:1", "null", nil, false), ("a:1", "http://b:1", "same-origin", false), ("a:1", "ftp://a:1", nil, false),
            (nil, "http://a:1", nil, false), ("a:1", "http://user@a:1", nil, false),
        ] as [(String?, String?, String?, Bool)]
    )
    func knowsItsOwnPages(host: String?, origin: String?, site: String?, isSame: Bool) {
        #expect(SecurityMiddleware.isSameOrigin(host: host, origin: origin, fetchSite: site) == isSame)
    }
}

struct PostedCommandTests {
    private func order(_ value: String) throws -> OutgoingCommand {
        try PostedCommand(menu: .standard, store: "강남").command(ByteBuffer(string: value), of: .orders)
    }

    private func restock(_ value: String) throws -> OutgoingCommand {
        try PostedCommand(menu: .standard, store: "s").command(ByteBuffer(string: value), of: .restocks)
    }

    /// What is posted, and the value of the command's record.
    @Test(arguments: [
        (
            #"{"orderId":"kiosk-<b>\"1\"","store":"t","juice":"kiwi","quantity":2,"more":1}"#,
            #"{"orderId":"kiosk-<b>\"1\"","juice":"kiwi","quantity":2}"#
        ),
        (
            #"{"orderId":"kiosk-1","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}]}"#,
            #"{"orderId":"kiosk-1","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana","quantity":1}]}"#
        ),
        // A basket of one item is an order of a single juice.
        (
            #"{"orderId":"kiosk-1","items":[{"juice":"kiwi","quantity":100}]}"#,
            #"{"orderId":"kiosk-1","juice":"kiwi","quantity":100}"#
        ),
    ])
    func anOrderBecomesACommand(posted: String, value: String) throws {
        #expect(String(decoding: try order(posted).value, as: UTF8.self) == value)
    }

    @Test func aCommandHasItsKindStoreAndID() throws {
        let order = try order(#"{"orderId":"kiosk-<b>\"1\"","juice":"kiwi"}"#)
        #expect((order.kind, order.store, order.id) == (.order, "강남", #"kiosk-<b>"1""#))
        #expect(try self.order(#"{"orderId":"kiosk-1","cancel":true}"#) == .cancel(id: "kiosk-1", store: "강남"))
        // The fruits are in the menu's order.
        let amounts = [("strawberry", 16), ("kiwi", -2)].map { FruitAmount(fruit: $0, amount: $1) }
        let restock = try restock(#"{"restockId":"kiosk-r","add":{"kiwi":-2,"strawberry":16}}"#)
        #expect(restock == .restock(id: "kiosk-r", store: "s", .add, amounts))
    }

    @Test(
        arguments: [
            ("kiosk-a-1", "kiosk-a"), ("kiosk-a-b-1", "kiosk-a-b"), ("kiosk-a-", "kiosk-a"), ("kiosk-\u{301}-1", "kiosk-\u{301}"),
            ("kiosk-1", nil), ("kiosk-", nil), ("kiosk--1", nil), ("pos-7-000124", nil), ("", nil), ("Kiosk-a-1", nil),
        ] as [(String, String?)])
    func anIDBeginsWithItsPage(id: String, page: String?) {
        #expect(PostedCommand.page(ofID: id) == page.map(Name.init))
    }

    @Test(arguments: ["pos-7-000124", "kiosk", "Kiosk-1", "", "kiosk\u{2010}1"])
    func aTillsIDIsRefused(id: String) {
        #expect(throws: Refusal.self) { try order(#"{"orderId":"\#(id)","cancel":true}"#) }
        #expect(throws: Refusal.self) { try order(#"{"orderId":"\#(id)","juice":"kiwi"}"#) }
        #expect(throws: Refusal.self) { try restock(#"{"restockId":"\#(id)","add":{"kiwi":1}}"#) }
    }

    @Test(arguments: ["kiosk-\u{301}", "kiosk-kiosk-1", "kiosk-" + String(repeating: "x", count: 122)])
    func anyOtherIDIsAllowed(id: String) throws {
        #expect(Array(try order(#"{"orderId":"\#(id)","cancel":true}"#).id.utf8) == Array(id.utf8))
    }

    private static let longID = "kiosk-" + String(repeating: "x", count: 123)
    private static let twentyOne = Array(repeating: #"{"juice":"kiwi"}"#, count: 21).joined(separator: ",")

    @Test(arguments: [
        "", "[]", "{", "{}", #"{"orderId":1,"cancel":true}"#, #"{"orderId":"\#(longID)","cancel":true}"#,
        #"{"orderId":"kiosk-o"}"#, #"{"orderId":"kiosk-o","juice":"durian"}"#, #"{"orderId":"kiosk-o","cancel":1}"#,
        #"{"orderId":"kiosk-o","juice":"kiwi","quantity":0}"#, #"{"orderId":"kiosk-o","juice":"kiwi","quantity":101}"#,
        #"{"orderId":"kiosk-o","items":[]}"#, #"{"orderId":"kiosk-o","items":[{"juice":"kiwi"}],"quantity":1}"#,
        #"{"orderId":"kiosk-o","items":[\#(twentyOne)]}"#,
    ])
    func whatTheServiceWouldRejectIsRefused(posted: String) {
        #expect(#expect(throws: Refusal.self) { try order(posted) }?.status == .badRequest)
    }

    @Test(arguments: [
        "", #"{"restockId":"kiosk-r"}"#, #"{"restockId":"kiosk-r","add":{}}"#, #"{"orderId":"kiosk-r","add":{"kiwi":1}}"#,
        #"{"restockId":"kiosk-r","add":{"kiwi":1},"set":{"kiwi":1}}"#, #"{"restockId":"kiosk-r","add":{"durian":1}}"#,
        #"{"restockId":"kiosk-r","set":{"kiwi":"1"}}"#, #"{"restockId":"kiosk-r","add":{"kiwi":9223372036854775808}}"#,
    ])
    func aRestockThatTheServiceWouldRejectIsRefused(posted: String) {
        #expect(#expect(throws: Refusal.self) { try restock(posted) }?.status == .badRequest)
    }
}
