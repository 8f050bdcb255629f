import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct BorrowedTextTests {
    @Test(arguments: ["", "a", "1234567", "12345678", "123456789", "딸기", "0123456789abcdef0123456789abcdef!"])
    func equalityIsThatOfBytes(text: String) {
        BorrowedText.withText(text) { first in
            BorrowedText.withText(text + "") { second in #expect(first == second) }
            BorrowedText.withText(text + "x") { longer in #expect(first != longer) }
            // A difference in any one byte counts.
            for position in text.utf8.indices {
                var bytes = Array(text.utf8)
                bytes[text.utf8.distance(from: text.startIndex, to: position)] ^= 1
                bytes.withUnsafeBytes { #expect(first != BorrowedText($0)) }
            }
            #expect(String(first) == text)
        }
    }

    @Test func canonicallyEquivalentTextsDiffer() {
        #expect(BorrowedText("\u{E9}") != BorrowedText("e\u{301}"))
        #expect(BorrowedText("kiwi") == BorrowedText("kiwi"))
    }

    @Test(
        arguments: [
            ("", ""), ("durian", "durian"),
            (String(repeating: "x", count: 64), String(repeating: "x", count: 64)),
            (String(repeating: "x", count: 65), String(repeating: "x", count: 64) + "…"),
            (String(repeating: "🇰🇷", count: 65), String(repeating: "🇰🇷", count: 64) + "…"),
            (String(repeating: "x", count: 1_025), String(repeating: "x", count: 64) + "…"),
            // One character of any length: it is left out rather than cut in two.
            ("ab" + String(repeating: "\u{301}", count: 2000) + "c", "a…"),
            (
                "abc" + String(repeating: "\u{301}", count: 500) + "d",
                "abc" + String(repeating: "\u{301}", count: 500) + "d"
            ),
        ]
    )
    func clipsLongTexts(text: String, clipped: String) {
        #expect(Array(BorrowedText.withText(text) { $0.clipped() }.utf8) == Array(clipped.utf8))
    }
}

@Suite struct ByteKeyTableTests {
    private func key(_ table: ByteKeyTable, _ index: Int) -> [UInt8] {
        table.withKey(at: index) { Array($0) }
    }

    @Test func keysGetDenseIndicesInTheOrderTheyCome() {
        var table = ByteKeyTable()
        for (index, name) in ["gangnam", "", "main", "e\u{301}", "\u{E9}"].enumerated() {
            let key = [UInt8](name)
            #expect(key.withUnsafeBytes { table.find($0) } == nil)
            let first = key.withUnsafeBytes { table.insert($0) }
            #expect(first.index == index && first.inserted)
            let second = key.withUnsafeBytes { table.insert($0) }
            #expect(second.index == index && !second.inserted)
            #expect(key.withUnsafeBytes { table.find($0) } == index)
        }
        #expect(table.count == 5)
        #expect(key(table, 1) == [])
        #expect(key(table, 2) == [UInt8]("main"))
        #expect(key(table, 4) == [0xC3, 0xA9])
    }

    @Test func aCopyIsATableOfItsOwn() {
        var table = ByteKeyTable()
        _ = "a".asValue { table.insert($0) }
        var copy = table
        _ = "b".asValue { copy.insert($0) }
        #expect(table.count == 1)
        #expect("b".asValue { table.find($0) } == nil)
        #expect("b".asValue { copy.find($0) } == 1)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func itAgreesWithADictionary(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = ByteKeyTable()
        var model: [[UInt8]: Int] = [:]
        for _ in 0..<20_000 {
            // Short keys of few different bytes, so about half of them repeat.
            let length = Int.random(in: 0...12, using: &generator)
            let key = (0..<length).map { _ in UInt8.random(in: 0...3, using: &generator) }
            #expect(key.withUnsafeBytes { table.find($0) } == model[key])
            if Bool.random(using: &generator) {
                let (index, inserted) = key.withUnsafeBytes { table.insert($0) }
                #expect(inserted == (model[key] == nil))
                #expect(index == model[key, default: model.count])
                model[key] = index
            }
        }
        #expect(table.count == model.count)
        for (key, index) in model {
            #expect(self.key(table, index) == key)
            #expect(key.withUnsafeBytes { table.find($0) } == index)
        }
    }
}

@Suite struct OutputBufferTests {
    @Test(
        arguments: [
            0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 1_000_000_000, .max, .max - 1, -1, -9, -10, -100, .min,
            .min + 1,
            999_999_999_999_999_999, 1_000_000_000_000_000_000,
        ]
    )
    func integersAreWrittenInDecimal(value: Int) {
        #expect(written { $0.append(decimal: value) } == "\(value)")
    }

    @Test func everyByteIsWrittenAsJSONReadsIt() throws {
        let reader = JSONReader(capacity: 16)
        for byte in UInt8(0)...0x7F {
            let text = "a\(Character(UnicodeScalar(byte)))b가"
            let json = [UInt8](written { $0.append(quoted: text) })
            let read = try json.withUnsafeBytes { try reader.read($0).string.map(String.init) }
            #expect(read == text)
        }
    }

    /// Bytes are checked eight or sixteen at a time. One that is not plain must be found at any position.
    @Test(arguments: 0...40) func oneByteThatIsNotPlainIsFound(length: Int) throws {
        let reader = JSONReader(capacity: 64)
        var text = [UInt8](repeating: UInt8(ascii: "~"), count: length)
        #expect(text.withUnsafeBytes { $0.isPlain })
        for position in text.indices {
            for byte in [0, 0x1F, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x80, 0xFF] {
                text[position] = byte
                #expect(!text.withUnsafeBytes { $0.isPlain })
                // A quote ends the string too early, and a backslash makes an invalid escape.
                let json = Array("\"".utf8) + text + Array("~\"".utf8)
                #expect(throws: JSONError.notJSON) { try json.withUnsafeBytes { _ = try reader.read($0) } }
            }
            text[position] = UInt8(ascii: "~")
        }
    }

    @Test func keepsItsBytesWhenItGrowsAndNoneWhenEmptied() {
        var buffer = OutputBuffer(capacity: 0)
        var expected: [UInt8] = []
        for number in 0..<1000 {
            buffer.append(decimal: number)
            expected += Array("\(number)".utf8)
        }
        #expect(buffer.bytes == expected)
        #expect(buffer.count == expected.count)
        buffer.removeAll()
        #expect(buffer.bytes == [] && buffer.count == 0)
        buffer.append("again")
        #expect(buffer.text == "again")
    }
}

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

    @Test func hashesDependOnWhereThePiecesMeet() {
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

    @Test func aFirstPieceIsKnownForSeveralSecondOnes() {
        Array("gangnam".utf8).withUnsafeBytes { first in
            let known = SipHash(of: first, key: Self.key)
            #expect(known.hash == SipHash.hash(first, key: Self.key))
            let hashes = [("a", 1), ("b", 1), ("a", 2), ("ab", 1)].map { second, kind in
                Array(second.utf8).withUnsafeBytes { known.wideHash(with: $0, kind: UInt8(kind)) }
            }
            #expect(Set(hashes.map(\.low)).count == 4 && Set(hashes.map(\.high)).count == 4)
        }
    }

    @Test func keysMatter() {
        let hashes = (0..<100).map { _ in Array("gangnam".utf8).withUnsafeBytes { SipHash.hash($0, key: .random()) } }
        #expect(Set(hashes).count == hashes.count)
    }
}

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
