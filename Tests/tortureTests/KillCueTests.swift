import Testing

@testable import torture

@Suite("A round kills the instance that a late request has harmed")
struct KillCueTests {
    /// A producer that has moved on to another transactional id has one part more.
    @Test(arguments: ["group/juice-2/0/1", "group/juice-2/0/1/127"])
    func theInstanceIsFoundByItsTransactionalID(id: String) {
        let cue = KillCue()
        cue.arm()
        #expect(cue.instance == nil)
        #expect(cue.signal(harmed: id, at: .zero))
        #expect(cue.instance == "juice-2")
        #expect(cue.isHolding(id, at: .zero))
        #expect(!cue.isHolding(id, at: KillCue.pause))
    }

    @Test func onlyTheFirstHarmCountsAndOnlyWhileARoundWaits() {
        let cue = KillCue()
        #expect(!cue.signal(harmed: "group/juice-1/0/0", at: .zero))
        cue.arm()
        #expect(cue.signal(harmed: "group/juice-2/0/0", at: .zero))
        #expect(!cue.signal(harmed: "group/juice-3/0/0", at: .zero))
        #expect(cue.instance == "juice-2")
        cue.disarm()
        #expect(cue.instance == nil)
        #expect(!cue.isHolding("group/juice-2/0/0", at: .zero))
    }
}
