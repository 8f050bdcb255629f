import Foundation
import JuiceDomain
import JuiceMessages
import Logging
import TestSupport
import Testing

@testable import JuiceWeb

struct StaffSecretTests {
    @Test(arguments: [
        "", "short", "0123456789abcde", "0123456789abcde f", "0123456789abcdé1", String(repeating: "x", count: 257),
    ])
    func refusesMalformedTokens(text: String) { #expect(StaffSecret(token: text) == nil) }

    @Test(arguments: ["", "12345", "1234567890123456", "12345a", "１２３４５６"])
    func refusesMalformedPINs(text: String) { #expect(StaffSecret(pin: text) == nil) }

    @Test(arguments: [
        ("0123456789abcdef", true), ("271828", true), ("27182", false), ("0123456789abcdeF", false), ("0123456789abcde", false),
        ("0123456789abcdef0", false), ("0123456789abcdef0123456789abcdef", false), (" 0123456789abcdef", false), ("", false),
        (nil, false),
    ])
    func onlyTheSecretsMatch(secret: String?, matches: Bool) throws {
        let secrets = [try #require(StaffSecret(token: "0123456789abcdef")), try #require(StaffSecret(pin: "271828"))]
        let staff = StaffAuthenticator(secrets, logger: .quiet)
        let session = try? staff.signIn(with: secret, session: nil, from: "")
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
        try staff.signIn(with: secret, session: session, from: "192.0.2.1")
    }

    /// The code of the refusal, or "in".
    private func enter(_ staff: StaffAuthenticator, _ secret: String, session: String? = nil, from peer: String = "") -> String {
        do throws(Refusal) {
            _ = try staff.signIn(with: secret, session: session, from: peer)
            return "in"
        } catch { return error.code + (error.retryAfter.map { " \($0)" } ?? "") }
    }

    /// Right or wrong, the answer is the same during a wait, so it says nothing about the PIN.
    @Test func moreWrongSecretsWaitLongerEachTime() {
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

    @Test func guessesDoNotLockOutTheTokenOrSessions() throws {
        let staff = staff()
        let (inUse, signedOut) = (try session(staff, pin), try session(staff, pin))
        staff.signOut(signedOut)
        for _ in 0...StaffAuthenticator.freeTries { _ = enter(staff, "000000") }
        #expect(enter(staff, pin) == "tooManyTries 1")
        #expect(enter(staff, token) == "in")
        #expect((try? staff.admit(inUse)) != nil)
        #expect(enter(staff, pin, session: signedOut) == "in")
        // A cookie that the kiosk did not issue does not help.
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

    @Test func refusedSignInsAreLoggedOnceASecondWithoutTheirSecrets() {
        let staff = staff()
        // Including those that have to wait.
        for number in 0..<1000 { _ = enter(staff, "secret-\(number)", from: "192.0.2.\(number % 256)") }
        #expect(recorder.all == ["warning a staff sign-in was refused address=192.0.2.0"])
        clock.advance(.seconds(1))
        _ = enter(staff, "wrong", from: "2001:db8::7")
        #expect(recorder.all.dropFirst() == ["warning a staff sign-in was refused address=2001:db8::7"])
    }

    @Test func withoutASecretNoSignInSucceeds() {
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
            try limiter.admit(from: "192.0.2.1")
            return nil
        } catch { return error.retryAfter }
    }

    /// How many of these orders pass.
    private func passing(_ limiter: OrderRateLimiter, of count: Int) -> Int {
        (0..<count).filter { _ in retryAfter(limiter) == nil }.count
    }

    @Test func allowsABurstOfTenSecondsThenTheRate() {
        let limiter = limiter()
        #expect(passing(limiter, of: 1000) == 50)
        #expect(retryAfter(limiter) == 1)
        // Once a second.
        #expect(recorder.all == ["warning too many orders a second address=192.0.2.1"])
        clock.advance(.seconds(2))
        #expect(passing(limiter, of: 1000) == 10)
        clock.advance(.seconds(3600))
        #expect(passing(limiter, of: 1000) == 50)
    }
}

struct SpacedWarningsTests {
    @Test func eachTextHasItsOwnPause() {
        let (clock, recorder) = (TestClock(), LogRecorder())
        let warnings = SpacedWarnings(recorder.makeLogger(), every: .seconds(60)) { clock.now }
        var shown: [[String]] = []
        for text in ["a", "a", "b", nil, "a", nil, nil] {
            if let text { warnings.warn(text, ["x": "\(shown.count)"]) }
            shown.append(warnings.current)
            clock.advance(.seconds(30))
        }
        #expect(recorder.all == ["warning a x=0", "warning b x=2", "warning a x=4"])
        #expect(shown == [["a"], ["a"], ["a", "b"], ["a", "b"], ["a", "b"], ["a", "b"], ["a"]])
    }
}

struct SecurityMiddlewareTests {
    @Test(arguments: [
        ("127.0.0.1:8081", true), ("localhost:8081", true), ("LOCALHOST", true), ("[::1]:8081", true),
        ("192.168.0.7", true), ("kiosk.example", true), ("KIOSK.example:443", true), ("evil.example", false),
        ("127.0.0.1.evil.example", false), ("127.0.0.256", false), ("", false), (":8081", false), (nil, false),
        ("kiosk.example.", true), ("kiosk.example.:443", true), ("localhost.", true), ("kiosk.example..", false), (".", false),
        ("evil.example.", false), ("kiosk.example.evil.", false),
    ])
    func knowsItsHosts(host: String?, isOwn: Bool) {
        let middleware = SecurityMiddleware(hostNames: ["Kiosk.example."], metrics: KioskMetrics(), logger: .quiet)
        #expect(middleware.isOwn(host: host) == isOwn)
    }

    @Test(
        arguments: [
            ("a:1", "http://a:1", true), ("a:1", "https://A:1", true), ("a:1", "http://a:2", false), ("a:1", nil, false),
            ("a:1", "null", false), ("a:1", "http://b:1", false), ("a:1", "ftp://a:1", false), (nil, "http://a:1", false),
            ("a:1", "http://user@a:1", false), ("a:443", "https://A", true), ("a:80", "http://a", true),
            ("[::1]:80", "http://[::1]", true), ("a.:443", "https://a.", true), ("a:443", "https://a.", true),
            ("a:443", "http://a", false), ("a:80", "https://a", false), ("a", "https://a:443", false), ("a:443", "", false),
            ("a:4430", "https://a", false), ("a:443", "https://b", false), ("a", "https://a", true),
        ] as [(String?, String?, Bool)]
    )
    func knowsItsOwnPages(host: String?, origin: String?, isSame: Bool) {
        #expect(SecurityMiddleware.isSameOrigin(host: host, origin: origin) == isSame)
    }
}

struct PostedCommandTests {
    /// The kind of a command; nil if it is refused as a bad request.
    private func kind(_ value: String, to topic: InputTopic = .orders) throws -> CommandKind? {
        do {
            let command = try PostedCommand(Array(value.utf8), to: topic, store: "강남", menu: .standard)
            // A record is written as it was posted.
            #expect((command.store, command.value) == ("강남", Array(value.utf8)))
            return command.kind
        } catch let refusal as Refusal where refusal.status == .badRequest { return nil }
    }

    @Test func aFaultyCommandIsSent() throws {
        #expect(try kind(#"{"orderId":"kiosk-<b>\"1\"","store":"t","juice":"durian","more":1}"#) == .order)
        #expect(try kind(#"{"restockId":"kiosk-1"}"#, to: .restocks) == .restock)
    }

    @Test(arguments: [
        "", "[]", "{", "{}", #"{"orderId":1,"juice":"kiwi"}"#, #"{"orderId":"kiosk-1","orderId":"kiosk-2","juice":"kiwi"}"#,
        #"{"orderId":"kiosk-\#(String(repeating: "x", count: 123))","juice":"kiwi"}"#, #"{"restockId":"kiosk-1","add":{"kiwi":1}}"#,
    ])
    func refusesUnanswerableCommands(posted: String) throws {
        #expect(try kind(posted) == nil)
        #expect(try kind(posted.replacing("restockId", with: "orderId"), to: .restocks) == nil)
    }

    @Test(arguments: [
        ("pos-7-000124", false), ("kiosk", false), ("Kiosk-1", false), ("kiosk\u{2010}1", false), ("kiosk-1", true),
        ("kiosk-\u{301}", true), ("kiosk-kiosk-1", true), ("kiosk-" + String(repeating: "x", count: 122), true),
    ])
    func commandsOfPagesAlonePass(id: String, isPages: Bool) throws {
        for command in AnswerSample.allCases.flatMap({ $0.commands(id: id, store: "강남") }) {
            let kind = try kind(String(decoding: command.value, as: UTF8.self), to: command.kind.inputTopic)
            #expect(kind == (isPages ? command.kind : nil))
        }
    }

    @Test(
        arguments: [
            ("kiosk-a-1", "kiosk-a"), ("kiosk-a-b-1", "kiosk-a-b"), ("kiosk-a-", "kiosk-a"), ("kiosk-\u{301}-1", "kiosk-\u{301}"),
            ("kiosk-1", nil), ("kiosk-", nil), ("kiosk--1", nil), ("pos-7-000124", nil), ("", nil), ("Kiosk-a-1", nil),
        ] as [(String, String?)])
    func anIDBeginsWithItsPage(id: String, page: String?) {
        #expect(PostedCommand.page(ofID: id) == page.map(Name.init))
    }
}
