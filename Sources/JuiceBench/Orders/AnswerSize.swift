import JuiceClient
import JuiceMaker
import JuiceMessages

/// The size of the service's answers.
enum AnswerSize {
    /// The mean size over the first orders of ``BenchOrders``, in bytes. Computes the answers without Kafka.
    static func mean(orders count: Int, stores: Int, initialStock: Int) throws(Failure) -> Int {
        let menu = try BenchMenu.standard(initialStock: initialStock)
        let (decoder, maker, encoder) = (CommandDecoder(menu: menu), JuiceMaker(menu: menu), AnswerEncoder(menu: menu))
        var orders = BenchOrders(stores: stores)
        var fruits: [[UInt8]: FruitStore] = [:]
        var revisions: [[UInt8]: Int] = [:]
        var content = AnswerContent()
        var answers = OutputBuffer()
        var bytes = 0
        for number in 0..<count {
            let (key, value) = orders.next(number: number)
            var left = fruits.removeValue(forKey: key) ?? FruitStore(menu: menu)
            answers.removeAll()
            value.withUnsafeBytes { value in
                key.withUnsafeBytes { store in
                    guard case .command(let command) = decoder.decodeOrder(value), case .make(let order) = command.request else {
                        return
                    }
                    content.make(order, by: maker, from: &left)
                    content.revision = 0
                    if content.kind == .juiceMade {
                        revisions[key, default: 0] += 1
                        content.revision = revisions[key] ?? 0
                    }
                    let head = AnswerHead(.order, id: command.id, store: BorrowedText(store), offset: Int64(number))
                    encoder.write(content, head, into: &answers)
                }
            }
            bytes += answers.count
            fruits[key] = left
        }
        return bytes / count
    }
}
