import Foundation
import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

/// Any bytes lead to one of a decoder's three results, and leave the decoder intact.
@Suite struct HostileBytesTests {
    private static let commands = [
        #"{"orderId":"pos-\u00e9-7","juice":"strawberryBanana","quantity":12,"x":[{"y":null}]}"#,
        #"{"orderId":"b","items":[{"juice":"kiwi","quantity":2},{"juice":"mango"}],"cancel":false}"#,
        #"{"restockId":"bot","add":{"strawberry":16,"kiwi":-2,"mango":1.5e3},"x":"딸기"}"#,
    ].map { [UInt8]($0) }

    /// Checks the messages of the tests, the inputs with which the fuzzer reached every part of the decoders, and all that ever
    /// made one fail (`make fuzz` starts from them), with every prefix of each and some mutations.
    private func run(_ check: some InvariantCheck, on folder: String, _ golden: [String] = []) throws {
        let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Tools/Fuzz/Corpus/\(folder)")
        let files = try FileManager.default.contentsOfDirectory(at: corpus, includingPropertiesForKeys: nil)
        #expect(files.count >= 10)
        var generator = SeededGenerator(seed: 20_261_203)
        for input in try files.map({ [UInt8](try Data(contentsOf: $0)) }) + golden.map({ [UInt8]($0) }) {
            let beginnings = input.indices.map { [UInt8](input[..<$0]) }
            let mutations = (0..<40).map { _ in Self.mutated(input, &generator) }
            for bytes in [input] + beginnings + mutations {
                #expect(throws: Never.self, "\(String(decoding: bytes, as: UTF8.self))") {
                    try bytes.withUnsafeBytes { try check.check($0) }
                }
            }
        }
    }

    @Test func commands() throws {
        try run(CommandCheck(), on: "commands", GoldenCommands.orders.map(\.value) + GoldenCommands.restocks.map(\.value))
    }

    @Test func recordsOfTheJournal() throws {
        try run(AnswerCheck(), on: "answers", GoldenAnswers.all + GoldenNotes.all.map(\.value))
    }

    @Test func stock() throws { try run(StockCheck(), on: "stock", [GoldenAnswers.stock]) }

    @Test func mutatedCommandsAreJudgedTheSameByAFreshDecoder() throws {
        var generator = SeededGenerator(seed: 20_240_607)
        let used = CommandDecoder(menu: .standard)
        var seen: Set<String> = []
        for round in 0..<100_000 {
            let bytes = Self.mutated(Self.commands[round % 3], &generator)
            let results = bytes.withUnsafeBytes { [summary(used.decodeOrder($0)), summary(used.decodeRestock($0))] }
            seen.formUnion(results)
            // Earlier input must leave no trace. A new decoder takes time to make, so this is checked only now and then.
            if round.isMultiple(of: 500) {
                let fresh = CommandDecoder(menu: .standard)
                #expect(bytes.withUnsafeBytes { [summary(fresh.decodeOrder($0)), summary(fresh.decodeRestock($0))] } == results)
            }
        }
        // The mutations are worth something only if they reach every kind of result.
        let results = [
            "notJSON", "missingID", "badQuantity", "unknownJuice", "missingJuice", "repeatedField", "badAmount", "unknownFruit",
        ]
        for result in results { #expect(seen.contains { $0.contains(result) }, "no mutation led to \(result)") }
        #expect(Self.commands[0].withUnsafeBytes { summary(used.decodeOrder($0)) } == "pos-é-7: 12 strawberryBanana")
    }

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
