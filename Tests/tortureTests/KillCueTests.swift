import Testing

@testable import torture

@Suite("A round kills the instance that a late request has harmed")
struct KillCueTests {
    @Test func theInstanceIsFoundByItsTransactionalID() {
        let (cue, id) = (KillCue(), "group/juice-2/0/7/1")
        cue.arm()
        #expect(cue.instance == nil)
        cue.signal(harmed: id, at: .zero)
        #expect(cue.instance == "juice-2")
        #expect(cue.isHolding(id, at: .zero))
        #expect(!cue.isHolding(id, at: KillCue.pause))
    }

    @Test func onlyTheFirstHarmCountsAndOnlyWhileARoundWaits() {
        let cue = KillCue()
        cue.signal(harmed: "group/juice-1/0/0/0", at: .zero)
        cue.arm()
        #expect(cue.instance == nil)
        cue.signal(harmed: "group/juice-2/0/0/0", at: .zero)
        cue.signal(harmed: "group/juice-3/0/0/0", at: .zero)
        #expect(cue.instance == "juice-2")
        cue.disarm()
        #expect(cue.instance == nil)
        #expect(!cue.isHolding("group/juice-2/0/0/0", at: .zero))
    }
}
