import Foundation
import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

/// Any bytes lead to one of a decoder's three results, and leave the decoder intact.
@Suite struct HostileBytesTests {
    static let order = [UInt8](
        #"{"orderId":"pos-\u00e9-7","juice":"strawberryBanana","quantity":12,"x":[{"y":null}]}"#
    )
    static let basket = [UInt8](
        #"{"orderId":"b","items":[{"juice":"kiwi","quantity":2},{"juice":"mango"}],"cancel":false}"#
    )
    static let restock = [UInt8](
        #"{"restockId":"bot","add":{"strawberry":16,"kiwi":-2,"mango":1.5e3},"x":"딸기"}"#
    )

    @Test(arguments: [(order, "pos-é-7: 12 strawberryBanana"), (basket, "b: [2 kiwi, 1 mango]")])
    func everyCutOfACommandIsADeadLetter(command: [UInt8], whole: String) {
        let decoder = CommandDecoder(menu: .standard)
        for length in command.indices {
            let code = command[..<length].withUnsafeBytes { summary(decoder.decodeOrder($0)) }
            #expect(code == (length == 0 ? "emptyValue" : "notJSON"), "cut at \(length)")
        }
        #expect(command.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == whole)
    }

    @Test func mutatedCommandsAreJudgedTheSameByAFreshDecoder() throws {
        var generator = SeededGenerator(seed: 20_240_607)
        let used = CommandDecoder(menu: .standard)
        var seen: Set<String> = []
        for round in 0..<100_000 {
            let bytes = Self.mutated([Self.order, Self.basket, Self.restock][round % 3], &generator)
            let orderResult = bytes.withUnsafeBytes { summary(used.decodeOrder($0)) }
            let restockResult = bytes.withUnsafeBytes { summary(used.decodeRestock($0)) }
            seen.insert(orderResult)
            seen.insert(restockResult)
            // What came before must have left no trace. A new decoder takes its time, so now and then only.
            if round.isMultiple(of: 500) {
                let fresh = CommandDecoder(menu: .standard)
                #expect(bytes.withUnsafeBytes { summary(fresh.decodeOrder($0)) } == orderResult)
                #expect(bytes.withUnsafeBytes { summary(fresh.decodeRestock($0)) } == restockResult)
            }
        }
        // The mutations are worth something only if they reach every kind of result.
        let results = [
            "notJSON", "missingID", "badQuantity", "unknownJuice", "missingJuice", "repeatedField", "badAmount", "unknownFruit",
        ]
        for result in results { #expect(seen.contains { $0.contains(result) }, "no mutation led to \(result)") }
        #expect(Self.order.withUnsafeBytes { summary(used.decodeOrder($0)) } == "pos-é-7: 12 strawberryBanana")
    }

    /// What is not refused is an answer or a note, and can be written again.
    @Test func mutatedRecordsOfTheJournalAreReadAlikeByAllReaders() throws {
        var generator = SeededGenerator(seed: 20_261_203)
        let records = GoldenAnswers.all + GoldenNotes.all.map(\.value)
        let check = AnswerCheck()
        for round in 0..<5_000 {
            let bytes = Self.mutated([UInt8](records[round % records.count]), &generator)
            try bytes.withUnsafeBytes { try check.check($0) }
        }
    }

    @Test func randomBytesAreDeadLetters() {
        var generator = SeededGenerator(seed: 7)
        let decoder = CommandDecoder(menu: .standard)
        for _ in 0..<10_000 {
            let length = Int.random(in: 1...200, using: &generator)
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(bytes.withUnsafeBytes { summary(decoder.decodeOrder($0)) } == "notJSON")
        }
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

/// The inputs by which the fuzzer reached every part of the decoders, and all that ever made one fail. The fuzzer starts from
/// them (`make fuzz`).
@Suite struct CorpusTests {
    private func inputs(_ name: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Tools/Fuzz/Corpus/\(name)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.map { ($0.lastPathComponent, [UInt8](try Data(contentsOf: $0))) }
    }

    private func run(_ check: some InvariantCheck, on folder: String) throws {
        let inputs = try inputs(folder)
        #expect(inputs.count >= 10)
        for (name, bytes) in inputs {
            #expect(throws: Never.self, "\(folder)/\(name)") { try bytes.withUnsafeBytes { try check.check($0) } }
            // And every beginning of it.
            for end in bytes.indices {
                #expect(throws: Never.self, "\(folder)/\(name) up to \(end)") {
                    try bytes[..<end].withUnsafeBytes { try check.check($0) }
                }
            }
        }
    }

    @Test func commands() throws { try run(CommandCheck(), on: "commands") }

    @Test func answers() throws { try run(AnswerCheck(), on: "answers") }

    @Test func stock() throws { try run(StockCheck(), on: "stock") }
}
