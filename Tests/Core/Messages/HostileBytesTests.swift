import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

/// Any bytes lead to one of a decoder's three results, and leave the decoder intact.
@Suite struct HostileBytesTests {
    /// Checks the samples, with every prefix of each and some mutations.
    private func run(_ check: some InvariantCheck, mutations: Int = 40) throws {
        #expect(check.samples.count >= 10)
        var generator = SeededGenerator(seed: 20_261_203)
        for input in check.samples.map({ [UInt8]($0) }) {
            let beginnings = input.indices.map { [UInt8](input[..<$0]) }
            let mutations = (0..<mutations).map { _ in Self.mutated(input, &generator) }
            for bytes in [input] + beginnings + mutations {
                #expect(throws: Never.self, "\(String(decoding: bytes, as: UTF8.self))") {
                    try bytes.withUnsafeBytes { try check.check($0) }
                }
            }
        }
    }

    @Test func commands() throws { try run(CommandCheck()) }

    @Test func recordsOfTheJournal() throws { try run(AnswerCheck()) }

    @Test func stock() throws { try run(StockCheck(), mutations: 400) }

    private static func mutated(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        let telling = [UInt8](#"{}[]:,"\0123456789-+.eE tfnu"# + "\u{0}\u{1f}\u{7f}é")
        var bytes = bytes
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            guard !bytes.isEmpty else { break }
            let position = Int.random(in: bytes.indices, using: &generator)
            let byte = telling[Int.random(in: telling.indices, using: &generator)]
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[position] = byte
            case 1: bytes.insert(byte, at: position)
            case 2: bytes.remove(at: position)
            case 3: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 4: bytes.removeSubrange(position..<min(position + 8, bytes.count))
            default: bytes.insert(contentsOf: bytes[position..<min(position + 16, bytes.count)], at: position)
            }
        }
        return bytes
    }
}
