import JuiceEngine
import Testing

@testable import JuiceService

@Suite struct RecordConverterTests {
    /// librdkafka frees a topic that is no longer read, and may put another one in its place.
    @Test func anIdentityIsForgottenWhenOthersAreRead() {
        var converter = RecordConverter(["s": ChangelogTopic.stock, "r": .results])
        let identity = OpaquePointer(bitPattern: 1)
        #expect(converter.topic(identity, named: "s") == .stock)
        #expect(converter.topic(OpaquePointer(bitPattern: 2), named: "r") == .results)
        #expect(converter.topic(identity, named: "s") == .stock)
        converter.begin()
        #expect(converter.topic(identity, named: "r") == .results)
    }
}
