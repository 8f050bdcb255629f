import JuiceClient
import JuiceMaker
import JuiceMessages

/// The size of the service's answers.
enum AnswerSize {
    /// The mean size over the first orders of ``BenchOrders``, in bytes. Computes the answers without Kafka.
    static func mean(orders count: Int, stores: Int, initialStock: Int) throws(Failure) -> Int {
        let menu = try BenchMenu.standard(initialStock: initialStock)
        let (decoder, maker, encoder) = (
            CommandDecoder(menu: menu), JuiceMaker(menu: menu), AnswerEncoder(menu: menu)
        )
        var orders = BenchOrders(stores: stores)
        var fruits: [[UInt8]: FruitStore] = [:]
        var content = AnswerContent()
        var answers = OutputBuffer()
        var bytes = 0
        for number in 0..<count {
            let (store, value) = orders.next(number: number)
            var left = fruits.removeValue(forKey: store) ?? FruitStore(menu: menu)
            answers.removeAll()
            value.withUnsafeBytes { value in
                store.withUnsafeBytes { store in
                    guard case .command(let order) = decoder.decodeOrder(value) else { return }
                    let outcome = maker.make(order.order, from: &left)
                    content.set(order.order, outcome, by: maker, left: left)
                    let head = AnswerHead(.order, id: order.id, store: BorrowedText(store))
                    encoder.write(content, head, into: &answers)
                }
            }
            bytes += answers.count
            fruits[store] = left
        }
        return bytes / count
    }
}
