import Testing

@testable import JuiceMessages

@Suite struct StoreIDTests {
    @Test(
        arguments: [
            ([], "main"), ([UInt8]("gangnam"), "gangnam"), ([UInt8]("강남점🍓"), "강남점🍓"), ([0], "\u{0}"),
            ([UInt8](repeating: 0x61, count: 128), String(repeating: "a", count: 128)), ([UInt8](repeating: 0x61, count: 129), nil),
            ([0xFF], nil), ([0x61, 0xC3], nil), ([0xED, 0xA0, 0x80], nil), ([0xC0, 0xAF], nil), ([0x80], nil),
            ([0xF4, 0x90, 0x80, 0x80], nil),
        ] as [([UInt8], String?)]
    )
    func aKeyNamesAStore(key: [UInt8], store: String?) {
        key.withUnsafeBytes { #expect(StoreID.read(key: $0).map(String.init) == store) }
    }

    @Test func noKeyMeansMain() { #expect(StoreID.read(key: nil).map(String.init) == StoreID.main) }
}
