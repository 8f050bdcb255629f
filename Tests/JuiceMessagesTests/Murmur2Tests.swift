import JuiceMessages
import Testing

@Suite struct Murmur2Tests {
    // From the tests of Kafka's Java client (UtilsTest) and of librdkafka (rdmurmur2.c).
    static let known: [(key: String, hash: Int32)] = [
        ("21", -973_932_308),
        ("foobar", -790_332_482),
        ("a-little-bit-long-string", -985_981_536),
        ("a-little-bit-longer-string", -1_486_304_829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
        ("abc", 479_470_107),
        ("kafka", Int32(bitPattern: 0xD067_CF64)),
        ("giberish123456789", Int32(bitPattern: 0x8F55_2B0C)),
        ("1234", Int32(bitPattern: 0x9FC9_7B14)),
        ("234", Int32(bitPattern: 0xE7C0_09CA)),
        ("34", Int32(bitPattern: 0x8739_30DA)),
        ("4", Int32(bitPattern: 0x5A4B_5CA1)),
        ("PreAmbleWillBeRemoved,ThePrePartThatIs", Int32(bitPattern: 0x7842_4F1C)),
        ("reAmbleWillBeRemoved,ThePrePartThatIs", Int32(bitPattern: 0x4A62_B377)),
        ("eAmbleWillBeRemoved,ThePrePartThatIs", Int32(bitPattern: 0xE0E4_E09E)),
        ("AmbleWillBeRemoved,ThePrePartThatIs", Int32(bitPattern: 0x62B8_B43F)), ("", Int32(bitPattern: 0x106E_08D9)),
    ]

    @Test(arguments: known)
    func hashesAreThoseOfOtherClients(key: String, hash: Int32) {
        // Wherever the key lies in memory.
        for shift in 0..<4 {
            let bytes = Array(repeating: UInt8(ascii: "x"), count: shift) + Array(key.utf8)
            let found = bytes.withUnsafeBytes { Murmur2.hash(UnsafeRawBufferPointer(rebasing: $0[shift...])) }
            #expect(found == hash)
        }
    }

    @Test func aKeyWithoutMemoryHashesLikeAnEmptyOne() {
        #expect(Murmur2.hash(UnsafeRawBufferPointer(start: nil, count: 0)) == 0x106E_08D9)
    }

    @Test(
        arguments: [
            // A negative hash loses its sign bit: it becomes neither its absolute value nor its remainder.
            ("21", 12, 0), ("foobar", 12, 6), ("abc", 12, 3), ("abc", 1, 0), ("21", Int32.max, 1_173_551_340),
        ] as [(String, Int32, Int32)]
    )
    func partitionsAreThoseOfJavaClients(key: String, count: Int32, partition: Int32) {
        let found = Array(key.utf8).withUnsafeBytes { Murmur2.partition(of: $0, count: count) }
        #expect(found == partition)
    }
}
