import Testing

@testable import JuiceService

/// Services of other versions read the metadata of committed offsets.
@Suite struct CommitMetadataTests {
    @Test(arguments: [
        ("group/till/0", ["group/till/0/0", "group/till/0/1", "group/till/0/2"], "group/till/0#0,1,2 4"),
        ("group/till/0", ["group/till/0/0", "group/till/0/1/3"], "group/till/0#0,1/3 4"),
        ("group #1/a b/12", ["group #1/a b/12/0", "group #1/a b/12/1"], "group #1/a b/12#0,1 4"),
        ("group#7/a/0", ["group#7/a/0/0/7", "group#7/a/0/1/2"], "group#7/a/0#0/7,1/2 4"),
    ])
    func itNamesTransactionalIDs(owner: String, ids: [String], text: String) {
        let note = CommitMetadata(owner: owner, transactionalIDs: ids, partitionCount: 4)
        #expect(note.text == text)
        let read = CommitMetadata(text)
        #expect(read == note)
        #expect(read?.transactionalIDs == ids)
        #expect(read?.partitionCount == 4)
    }

    /// Earlier versions, whose workers had two producers, wrote no suffixes unless a producer had moved on.
    @Test(arguments: ["group/till/0", "group #1/a b/12"])
    func metadataWithoutSuffixesNamesTwoIDs(owner: String) {
        let read = CommitMetadata("\(owner) 4")
        #expect(read?.transactionalIDs == ["\(owner)/0", "\(owner)/1"])
        #expect(read?.partitionCount == 4)
    }

    @Test func theNextIDsAreThoseOfTheNextGeneration() {
        let note = CommitMetadata("group/a/0#0,1/127 4")
        #expect(note?.nextTransactionalIDs == ["group/a/0/0/1", "group/a/0/1"])
        // Any client that commits offsets for the group may write any number.
        #expect(CommitMetadata("group/a/0#0/9223372036854775807 4")?.nextTransactionalIDs.count == 1)
    }

    @Test(arguments: ["", "something", "something else", "4"])
    func whatIsNoneIsNot(text: String) { #expect(CommitMetadata(text) == nil) }
}
