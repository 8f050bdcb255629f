import Testing

@testable import torture

@Suite("Faults are chosen by kind, rate and seed")
struct FaultPlanTests {
    private func faults(_ plan: FaultPlan, of key: ApiKey) -> [Fault] {
        var plan = plan
        return (0..<10_000).map { _ in plan.fault(for: key) }
    }

    @Test func sameSeedChoosesTheSame() {
        let plan = FaultPlan(rate: 10, kinds: nil, seed: 7)
        #expect(faults(plan, of: .endTxn) == faults(plan, of: .endTxn))
        #expect(faults(plan, of: .endTxn) != faults(FaultPlan(rate: 10, kinds: nil, seed: 8), of: .endTxn))
    }

    @Test func rateIsKept() {
        let count = faults(FaultPlan(rate: 10, kinds: nil, seed: 7), of: .endTxn).count { $0 != .none }
        #expect((800...1_200).contains(count))
        #expect(faults(FaultPlan(rate: 0, kinds: nil, seed: 7), of: .endTxn).allSatisfy { $0 == .none })
    }

    @Test func onlyTheKindsNamedAreTroubled() {
        let plan = FaultPlan(rate: 100, kinds: [.endTxn], seed: 7)
        #expect(faults(plan, of: .endTxn).allSatisfy { $0 != .none })
        #expect(faults(plan, of: .produce).allSatisfy { $0 == .none })
        // Requests that lead clients to the listeners never get a fault.
        #expect(faults(FaultPlan(rate: 100, kinds: nil, seed: 7), of: .apiVersions).allSatisfy { $0 == .none })
    }

    @Test(arguments: FaultPlan.kinds.subtracting(FaultPlan.mayComeLate))
    func queriesDoNotComeLate(key: ApiKey) {
        for fault in faults(FaultPlan(rate: 100, kinds: nil, seed: 7), of: key) {
            switch fault {
            case .holdBack, .replay: Issue.record("\(key): \(fault)")
            default: continue
            }
        }
    }

    @Test(arguments: [ApiKey.endTxn, .addPartitions, .initProducerID, .produce, .offsetCommit])
    func whatChangesSomethingMeetsEveryFault(key: ApiKey) {
        var seen: Set<String> = []
        for fault in faults(FaultPlan(rate: 100, kinds: nil, seed: 7), of: key) {
            switch fault {
            case .none: continue
            case .holdBack: seen.insert("hold back")
            case .cut: seen.insert("cut")
            case .dropAnswer: seen.insert("drop answer")
            case .delayRequest: seen.insert("delay request")
            case .delayAnswer: seen.insert("delay answer")
            case .replay: seen.insert("replay")
            }
        }
        #expect(seen == ["hold back", "cut", "drop answer", "delay request", "delay answer", "replay"])
    }
}
