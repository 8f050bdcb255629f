import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Two processes of the same name, and so with the same transactional ids, which take over one partition at the same time.
@Suite final class TwinTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }
    /// The ids that the worker has fenced.
    private var fenced: Set<String> = []

    /// The first set that the worker takes.
    private let first = ["group-0/one/0/1/a", "group-0/one/0/1/b"]
    private let next = ["group-0/one/0/2/a", "group-0/one/0/2/b"]

    init() {
        harness.log.trace = { [unowned self] line in
            if line.hasPrefix("fence ") { fenced.formUnion(line.split(separator: " ").dropFirst().map(String.init)) }
        }
    }

    /// Another process claims the partition.
    private func claim(_ ids: [String]) {
        let claim = JournalClaim(ids: ids, since: 0, group: "0", instance: "one", partitions: 1, next: [:])
        cluster.send(.results, partition: 0, key: nil, value: JournalNote.claim(claim).bytes)
    }

    /// The ids of the claims in the journal.
    private var claims: [[String]] {
        cluster.records(.results).compactMap { record in
            guard case .claim(let claim) = record.value.flatMap({ JournalNote($0.view) }) else { return nil }
            return claim.ids
        }
    }

    /// Taking ids over fences their earlier claims. Otherwise a worker whose claims keep failing would run out of sets.
    @Test func allSetsMayBeClaimed() {
        let sets = (0..<8).map { set in ["a", "b"].map { "group-0/one/0/\(set)/\($0)" } }
        sets.forEach(claim)
        harness.order("a", "kiwi")
        #expect(claims == sets + [next])
        #expect(fenced == Set(sets.joined()).subtracting(next))
        #expect(cluster.answers() == ["made a"])
    }

    /// The claim's writer has fenced the owner of the old journal, but nobody in the new one.
    @Test func aClaimThatArrivesInARecreatedJournalIsRepeated() {
        var isDue = true
        claim(["former/0/0/0/0"])
        harness.log.fault = { [unowned self] call in
            guard call == .begin, isDue else { return nil }
            isDue = false
            cluster[.results, 0].clear()
            claim(["other/0/0/0/0"])
            return nil
        }
        harness.order("a", "kiwi")
        #expect(claims.map(\.first) == ["other/0/0/0/0", first[0], next[0]])
        #expect(fenced == Set(first + ["former/0/0/0/0", "other/0/0/0/0"]))
        #expect(harness.restarts > 0)
        #expect(cluster.answers() == ["made a"])
    }

    /// Every id that was claimed meanwhile is fenced, even if this worker's own ids are among them.
    @Test func fencesInterveningClaimsBeforeClaimingAgain() {
        var isDue = true
        harness.log.fault = { [unowned self] call in
            guard call == .begin, isDue else { return nil }
            isDue = false
            claim(["stranger"])
            claim(first)
            return nil
        }
        harness.order("a", "kiwi")
        #expect(claims == [["stranger"], first, first, next])
        #expect(fenced == Set(first + ["stranger"]))
        #expect(cluster.answers() == ["made a"])
    }
}
