import Testing

@testable import JuiceMessages

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

    @Test func itKeepsWhatItHoldsWhenItGrowsAndNothingWhenEmptied() {
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
