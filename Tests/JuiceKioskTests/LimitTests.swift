import JuiceMaker
import Logging
import TestSupport
import Testing

@testable import JuiceKiosk

struct OrderGateTests {
    private let clock = TestClock()
    private let recorder = LogRecorder()
    private let here = IPAddress("192.0.2.1")
    private let there = IPAddress("192.0.2.2")

    private func gate(inAll: Int = 100, perAddress: Int = 5) -> OrderGate {
        OrderGate(OrderLimits(inAll: inAll, perAddress: perAddress), logger: recorder.makeLogger(), now: { [clock] in clock.now })
    }

    /// Whether the order passes.
    private func passes(_ gate: OrderGate, _ id: String, from address: IPAddress?) -> Bool {
        retryAfter(gate, id, from: address) == nil
    }

    private func retryAfter(_ gate: OrderGate, _ id: String, from address: IPAddress?) -> Int? {
        let order = AwaitedAnswers.Command(kind: .order, store: Name("main"), id: Name(id))
        do throws(Refusal) {
            try gate.pass(order, from: address, path: "/api/orders")
            return nil
        } catch { return error.retryAfter }
    }

    /// The number of new orders that pass.
    private func passing(_ gate: OrderGate, _ ids: Range<Int>, from address: IPAddress?) -> Int {
        ids.filter { passes(gate, "\($0)", from: address) }.count
    }

    @Test func anAddressHasTenSecondsWorthAtOnceAndThenItsRate() {
        let gate = gate()
        #expect(passing(gate, 0..<1000, from: here) == 50)
        #expect(retryAfter(gate, "more", from: here) == 1)
        #expect(passes(gate, "more", from: there))
        clock.advance(.seconds(2))
        #expect(passing(gate, 1000..<2000, from: here) == 10)
        clock.advance(.seconds(3600))
        #expect(passing(gate, 2000..<3000, from: here) == 50)
    }

    @Test func allAddressesTogetherHaveALimit() throws {
        let gate = gate(inAll: 10, perAddress: 5)
        var passed = 0
        for number in 0..<1000 where passes(gate, "\(number)", from: IPAddress("192.0.2.\(number % 200)")) { passed += 1 }
        #expect(passed == 100)
        clock.advance(.seconds(1))
        #expect(passing(gate, 1000..<1050, from: there) == 10)
    }

    @Test func anAddressOfVersion6IsItsNetwork() {
        let gate = gate()
        #expect(passing(gate, 0..<50, from: IPAddress("2001:db8::1")) == 50)
        #expect(!passes(gate, "more", from: IPAddress("2001:db8::2")))
        #expect(passes(gate, "more", from: IPAddress("2001:db8:0:1::1")))
    }

    @Test func aFloodOfNewOrdersDoesNotHoldUpOneThatPassedBefore() {
        let gate = gate(inAll: 10, perAddress: 10)
        #expect(passes(gate, "mine", from: here))
        _ = passing(gate, 0..<1000, from: here)
        #expect(!passes(gate, "new", from: here))
        #expect(passes(gate, "mine", from: here))
        // Endless resends are limited, too.
        for _ in 0..<99 { #expect(passes(gate, "mine", from: here)) }
        #expect(!passes(gate, "mine", from: here))
        // A refused order does not count as accepted before.
        #expect(!passes(gate, "new", from: there))
    }

    @Test func whatIsUnknownSharesOneLimit() {
        let gate = gate()
        #expect(passing(gate, 0..<100, from: nil) == 50)
        #expect(passes(gate, "more", from: here))
    }

    @Test func refusalsAreToldOnceASecond() {
        let gate = gate()
        _ = passing(gate, 0..<1050, from: here)
        #expect(recorder.all == ["warning too many orders a second: one was refused address=192.0.2.1 path=/api/orders"])
        gate.close()
        #expect(recorder.all.last?.contains("one was refused, and 998 more after it") == true)
        gate.close()
        #expect(recorder.all.count == 2)
    }
}

struct StaffDoorTests {
    private let clock = TestClock()
    private let recorder = LogRecorder()
    private let here = IPAddress("192.0.2.1")
    private let there = IPAddress("192.0.2.2")
    private let token = "0123456789abcdef"

    private func door() -> StaffDoor {
        StaffDoor(StaffToken(token), logger: recorder.makeLogger(), now: { [clock] in clock.now })
    }

    /// The code of the refusal, or "in".
    private func enter(_ door: StaffDoor, _ token: String, from address: IPAddress?) -> String {
        do throws(Refusal) {
            try door.enter(authorization: "Bearer \(token)", from: address, path: "/api/staff")
            return "in"
        } catch { return error.code + (error.retryAfter.map { " \($0)" } ?? "") }
    }

    @Test func whoGoesOnWithWrongTokensWaitsLongerEachTime() {
        let door = door()
        for _ in 0..<StaffDoor.freeTries { #expect(enter(door, "wrong", from: here) == "wrongToken") }
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(enter(door, "wrong", from: here) == "wrongToken")
            #expect(enter(door, token, from: here) == "tooManyTries \(wait)")
            #expect(enter(door, token, from: there) == "in")
            clock.advance(.seconds(wait) - .milliseconds(1))
            #expect(enter(door, token, from: here) == "tooManyTries 1")
            clock.advance(.milliseconds(1))
        }
        #expect(enter(door, token, from: here) == "in")
        #expect(enter(door, "wrong", from: here) == "wrongToken")
        #expect(enter(door, token, from: here) == "in")
    }

    @Test func wrongTokensOfLongAgoAreForgotten() {
        let door = door()
        for _ in 0..<StaffDoor.freeTries { _ = enter(door, "wrong", from: here) }
        clock.advance(StaffDoor.memory + .seconds(1))
        #expect(enter(door, "wrong", from: here) == "wrongToken")
        #expect(enter(door, token, from: here) == "in")
    }

    @Test func wrongTokensAreToldOnceASecondAndNeverShown() {
        let door = door()
        for number in 0..<1000 { _ = enter(door, "secret-\(number)", from: IPAddress("192.0.2.\(number % 256)")) }
        #expect(recorder.all == ["warning a wrong staff token address=192.0.2.0 path=/api/staff"])
        clock.advance(.seconds(1))
        _ = enter(door, "wrong", from: IPAddress("2001:db8::7"))
        #expect(recorder.all.last == "warning a wrong staff token, and 999 more after it address=192.0.2.1 path=/api/staff")
        door.close()
        #expect(recorder.all.count == 2)
    }

    @Test func withoutATokenNobodyIsLetIn() {
        let door = StaffDoor(nil, logger: recorder.makeLogger())
        #expect(enter(door, "", from: here) == "editingIsOff")
        #expect(recorder.all.isEmpty)
    }
}
