/// Formats bytes like `hexdump -C`.
enum HexDump {
    static func digits(_ byte: UInt8) -> String {
        let text = String(byte, radix: 16)
        return byte < 16 ? "0" + text : text
    }

    static func lines(_ bytes: [UInt8]) -> [String] {
        stride(from: 0, to: bytes.count, by: 16).map { start in
            let row = bytes[start..<min(start + 16, bytes.count)]
            let offset = String(start, radix: 16)
            let printable = row.map { (0x20..<0x7F).contains($0) ? Character(Unicode.Scalar($0)) : "." }
            return String(repeating: "0", count: max(0, 8 - offset.count)) + offset + "  "
                + DisplayWidth.pad(row.map(digits).joined(separator: " "), to: 47) + "  |" + String(printable) + "|"
        }
    }
}
