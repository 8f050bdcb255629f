import Testing

@testable import JuiceMessages

@Suite struct SipHashTests {
    private static let key = SipHash.Key(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)

    /// The results of OpenSSL's implementation with `c-rounds:1`, `d-rounds:3` and the key 00 01 … 0f.
    private static let vectors: [(bytes: [UInt8], hash: UInt64, wide: (UInt64, UInt64))] = [
        ([], 0xABAC_0158_050F_C4DC, (0xBEA5_8827_B2BC_7EE7, 0x0130_30DD_6ADB_62FD)),
        ([0], 0xC9F4_9BF3_7D57_CA93, (0xA8ED_D360_0437_6FFC, 0x63F0_2F2B_CC73_055E)),
        (Array(0...7), 0x3690_9511_8D29_9A8E, (0xB4DA_E3D5_E1FE_12AA, 0x99C7_F935_AB16_4F72)),
        (Array(0...14), 0xD320_D86D_2A51_9956, (0x6C52_BDB2_0555_7EC1, 0x0901_7E1E_ECCD_2129)),
        (Array("store-000001".utf8), 0x205C_1C09_0732_B212, (0x7C4F_47C5_5D34_09FF, 0x1311_5D7B_62AE_5341)),
    ]

    @Test(arguments: vectors.indices) func itIsTheReferenceFunction(index: Int) {
        let vector = Self.vectors[index]
        vector.bytes.withUnsafeBytes { bytes in
            #expect(SipHash.hash(bytes, key: Self.key) == vector.hash)
            let wide = SipHash.wideHash(bytes, UnsafeRawBufferPointer(start: nil, count: 0), key: Self.key)
            #expect(wide == vector.wide)
        }
    }

    @Test func whereTheFirstEndsAndTheSecondBeginsMatters() {
        let hashes = [
            ("a", "bc"), ("ab", "c"), ("abc", ""), ("", "abc"), ("abcdefgh", "i"), ("abcdefghi", ""),
        ]
        .map { first, second in
            Array(first.utf8).withUnsafeBytes { first in
                Array(second.utf8).withUnsafeBytes { SipHash.wideHash(first, $0, key: Self.key).low }
            }
        }
        #expect(Set(hashes).count == hashes.count)
    }

    @Test func keysMatter() {
        let hashes = (0..<100).map { _ in Array("gangnam".utf8).withUnsafeBytes { SipHash.hash($0, key: .random()) } }
        #expect(Set(hashes).count == hashes.count)
    }
}
