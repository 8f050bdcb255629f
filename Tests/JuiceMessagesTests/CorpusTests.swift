import Foundation
import MessageSamples
import Testing

/// The inputs by which the fuzzer reached every part of the decoders, and all that ever made one fail. The fuzzer starts from
/// them (`make fuzz`).
@Suite struct CorpusTests {
    private func inputs(_ name: String) throws -> [(name: String, bytes: [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus/\(name)")
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
