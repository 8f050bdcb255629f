import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

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

    @Test(arguments: [0, 1_000])
    func everyKeyIsFoundAfterTheTableHasGrown(capacity: Int) {
        var table = ByteKeyTable(capacity: capacity)
        for number in 0..<20_000 {
            let inserted = [UInt8]("store-\(number)").withUnsafeBytes { table.insert($0) }
            #expect(inserted.index == number && inserted.inserted)
        }
        for number in 0..<20_000 {
            #expect([UInt8]("store-\(number)").withUnsafeBytes { table.find($0) } == number)
            #expect(key(table, number) == [UInt8]("store-\(number)"))
        }
        #expect([UInt8]("store-20000").withUnsafeBytes { table.find($0) } == nil)
        #expect(table.count == 20_000)
    }

    @Test func aCopyIsATableOfItsOwn() {
        var table = ByteKeyTable()
        _ = [UInt8]("a").withUnsafeBytes { table.insert($0) }
        var copy = table
        _ = [UInt8]("b").withUnsafeBytes { copy.insert($0) }
        #expect(table.count == 1)
        #expect([UInt8]("b").withUnsafeBytes { table.find($0) } == nil)
        #expect([UInt8]("b").withUnsafeBytes { copy.find($0) } == 1)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func itAgreesWithADictionary(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = ByteKeyTable()
        var model: [[UInt8]: Int] = [:]
        for _ in 0..<20_000 {
            // Short keys of few different bytes, so that about as many are old as are new.
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
        for (key, index) in model { #expect(self.key(table, index) == key) }
    }
}
