import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Two processes of the same name, and so with the same transactional ids, which take over one partition at the same time.
@Suite struct TwinTests {
    /// A worker, and what it tells of its fences.
    private final class Stand {
        let harness = Harness()
        var fenced: [String] = []

        /// The first set that the worker takes.
        static let first = ["0/one/1/a", "0/one/1/b"]
        static let next = ["0/one/2/a", "0/one/2/b"]

        init() {
            harness.log.trace = { [unowned self] line in
                guard line.hasPrefix("fence ") else { return }
                fenced += line.split(separator: " ").dropFirst().map(String.init)
            }
        }

        /// Another process claims the partition.
        func claim(_ ids: [String]) {
            let claim = JournalClaim(ids: ids, since: 0, group: "0", instance: "one", partitions: 1, next: [:])
            var buffer = OutputBuffer()
            JournalNote.claim(claim).write(into: &buffer)
            harness.cluster.send(.results, partition: 0, key: nil, value: String(decoding: buffer.bytes, as: UTF8.self))
        }

        /// The ids of the claims in the journal.
        var claims: [[String]] {
            harness.cluster.values(.results).compactMap { value in
                let bytes = StableBytes(value)
                guard case .claim(let claim) = JournalNote(bytes.view) else { return nil }
                return claim.ids
            }
        }
    }

    /// Perhaps each of the two has got some of these ids.
    @Test func idsThatAnotherClaimedAreLeft() {
        let stand = Stand()
        stand.claim(Stand.first)
        stand.harness.run()
        #expect(stand.claims == [Stand.first, Stand.next])
        #expect(Set(stand.fenced) == Set(Stand.first))
        #expect(!stand.harness.hasStartedOver, "it fenced itself")
    }

    /// What was claimed before the ids were taken over is fenced by that. Otherwise a worker whose claims fail one after the other
    /// would have no set left.
    @Test func allSetsMayBeClaimed() {
        let stand = Stand()
        let sets = (0..<8).map { set in ["a", "b"].map { "0/one/\(set)/\($0)" } }
        sets.forEach(stand.claim)
        stand.harness.cluster.order("a", "kiwi")
        stand.harness.run()
        #expect(stand.claims == sets + [Stand.next])
        #expect(Set(stand.fenced) == Set(sets.joined()).subtracting(Stand.next))
        #expect(stand.harness.cluster.answers() == ["juiceMade a"])
    }

    /// Whoever claims while this worker does is fenced, whatever else is found there.
    @Test func whatCameInBetweenIsFencedBeforeTheNextClaim() {
        let stand = Stand()
        var isDue = true
        stand.harness.log.fault = { [unowned stand] call in
            guard call == .begin, isDue else { return nil }
            isDue = false
            stand.claim(["stranger"])
            stand.claim(Stand.first)
            return nil
        }
        stand.harness.cluster.order("a", "kiwi")
        stand.harness.run()
        #expect(stand.claims == [["stranger"], Stand.first, Stand.first, Stand.next])
        #expect(Set(stand.fenced) == Set(Stand.first + ["stranger"]))
        #expect(stand.harness.cluster.answers() == ["juiceMade a"])
    }
}
