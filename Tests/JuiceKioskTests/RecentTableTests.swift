import Testing

@testable import JuiceKiosk

struct RecentTableTests {
    @Test func keepsThoseThatWereSetLast() {
        var table = RecentTable<Int, Int>(capacity: 10)
        for key in 0..<1000 {
            table[key] = key
            #expect(table.keys.count < 20)
        }
        #expect((990..<1000).allSatisfy { table[$0] == $0 })
        #expect(table[980] == nil)
    }

    @Test func whatIsSetAnewIsKept() {
        var table = RecentTable<Int, String>(capacity: 10)
        for key in 0..<1000 {
            table[-1] = "kept"
            table[key] = "new"
        }
        #expect(table[-1] == "kept")
        #expect(Set(table.keys).count == table.keys.count)
    }

    @Test func whatIsTakenOutIsGone() {
        var table = RecentTable<Int, Int>(capacity: 2)
        for key in 0..<4 { table[key] = key }
        for key in 0..<4 { table[key] = nil }
        #expect(table.keys.isEmpty)
    }
}
